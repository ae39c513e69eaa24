"""The REINFORCE example of 0.1.12: stochastic nodes, action.reinforce(r), backward of a list."""

import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable

torch.manual_seed(543)
gamma = 0.9


class Walk(object):
    """A walk on five places; the last one is the goal."""

    def reset(self):
        self.place = 2
        return self._state()

    def _state(self):
        state = [0.0] * 5
        state[self.place] = 1.0
        return torch.Tensor(state)

    def step(self, action):
        self.place = max(0, min(4, self.place + (1 if action else -1)))
        return self._state(), 1.0 if self.place == 4 else -0.1, self.place == 4


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(5, 16)
        self.affine2 = nn.Linear(16, 2)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        action_scores = self.affine2(x)
        return F.softmax(action_scores)


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=2e-2)
env = Walk()


def select_action(state):
    state = state.float().unsqueeze(0)
    probs = policy(Variable(state))
    action = probs.multinomial()
    policy.saved_actions.append(action)
    return action.data


def finish_episode():
    R = 0
    rewards = []
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        rewards.insert(0, R)
    rewards = torch.Tensor(rewards)
    rewards = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
    for action, r in zip(policy.saved_actions, rewards):
        action.reinforce(r)
    optimizer.zero_grad()
    autograd.backward(policy.saved_actions, [None for _ in policy.saved_actions])
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_actions[:]


lengths = []
for i_episode in range(60):
    state = env.reset()
    for t in range(30):
        action = select_action(state)
        state, reward, done = env.step(action[0, 0])
        policy.rewards.append(reward)
        if done:
            break
    lengths.append(t + 1)
    finish_episode()
print(sum(lengths[:15]) / 15.0, sum(lengths[-15:]) / 15.0)
probs = policy(Variable(env.reset().unsqueeze(0), volatile=True))
print("right: %.4f" % probs.data[0][1])
