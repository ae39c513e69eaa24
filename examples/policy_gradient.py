"""Learns to balance a pole on a cart by trying: policy gradients, as in Williams (1992).

The cart is a few lines of physics below, so that nothing needs to be installed.
"""

import argparse
import math

from tqdm import tqdm

import facula
from facula import nn, optim
from facula.distributions import Categorical


class Cart:
    """A cart that is pushed left or right; the state is place, speed, angle, turning speed."""

    def reset(self):
        self.state = (facula.rand(4) * 0.1 - 0.05).tolist()
        return facula.tensor(self.state)

    def step(self, action):
        """The next state, and whether the pole still stands."""
        place, speed, angle, turning = self.state
        force = 10.0 if action == 1 else -10.0
        sin, cos = math.sin(angle), math.cos(angle)
        # A pole of mass 0.1 and half-length 0.5 on a cart of mass 1.
        pull = (force + 0.05 * turning**2 * sin) / 1.1
        bend = (9.8 * sin - cos * pull) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        push = pull - 0.05 * bend * cos / 1.1
        dt = 0.02
        self.state = [
            place + dt * speed,
            speed + dt * push,
            angle + dt * turning,
            turning + dt * bend,
        ]
        return facula.tensor(self.state), abs(self.state[0]) < 2.4 and abs(self.state[2]) < 0.21


def play(policy, cart, most=500):
    """The log-probabilities of the actions taken until the pole fell: as many as rewards of 1."""
    state, is_up, chosen = cart.reset(), True, []
    while is_up and len(chosen) < most:
        distribution = Categorical(logits=policy(state))
        action = distribution.sample()
        chosen.append(distribution.log_prob(action))
        state, is_up = cart.step(action.item())
    return chosen


def train(n_episodes, discount=0.99):
    """The policy, and how long the pole stood in every episode."""
    facula.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    cart, lengths = Cart(), []
    for _ in tqdm(range(n_episodes), "training", unit="episode", disable=None):
        chosen = play(policy, cart)
        # What an action was worth: the rewards after it, later ones counting less.
        returns, total = [], 0.0
        for _ in chosen:
            total = 1.0 + discount * total
            returns.append(total)
        worth = facula.tensor(returns[::-1])
        worth = (worth - worth.mean()) / (worth.std() + 1e-8)
        loss = -(facula.stack(chosen) * worth).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(len(chosen))
    return policy, lengths


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=300)
    args = parser.parse_args()
    _, lengths = train(args.episodes)
    for first in range(0, len(lengths), 50):
        part = lengths[first : first + 50]
        print(f"episodes {first:4} on: the pole stood {sum(part) / len(part):.0f} steps")


if __name__ == "__main__":
    main()
