import random

import facula as torch
from facula import nn, optim

random.seed(0)
torch.manual_seed(0)


def make_net():
    return nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))


policy_net, target_net = make_net(), make_net()
target_net.load_state_dict(policy_net.state_dict())
target_net.eval()
optimizer = optim.AdamW(policy_net.parameters(), lr=1e-3, amsgrad=True)
memory, GAMMA, TAU = [], 0.99, 0.05
criterion = nn.SmoothL1Loss()

state = torch.randn(1, 4)
for _ in range(40):
    if random.random() < 0.3:
        action = torch.tensor([[random.randrange(3)]])
    else:
        with torch.no_grad():
            action = policy_net(state).max(1).indices.view(1, 1)
    next_state = torch.randn(1, 4) if random.random() > 0.1 else None
    memory.append((state, action, next_state, torch.tensor([random.random()])))
    state = torch.randn(1, 4) if next_state is None else next_state
    if len(memory) < 16:
        continue
    states, actions, next_states, rewards = zip(*random.sample(memory, 16), strict=True)
    mask = torch.tensor([s is not None for s in next_states])
    state_action_values = policy_net(torch.cat(states)).gather(1, torch.cat(actions))
    next_values = torch.zeros(16)
    with torch.no_grad():
        next_values[mask] = target_net(torch.cat([s for s in next_states if s is not None])).max(1)[
            0
        ]
    expected = next_values * GAMMA + torch.cat(rewards)
    loss = criterion(state_action_values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    target_state, policy_state = target_net.state_dict(), policy_net.state_dict()
    for key in policy_state:
        target_state[key] = policy_state[key] * TAU + target_state[key] * (1 - TAU)
    target_net.load_state_dict(target_state)
