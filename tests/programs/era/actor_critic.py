"""Actor and critic of 0.1.12: reinforce and a value loss, in one backward of a list."""

import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

torch.manual_seed(7)


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(3, 12)
        self.action_head = nn.Linear(12, 3)
        self.value_head = nn.Linear(12, 1)

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


model = Policy()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
n_right = []
for episode in range(40):
    saved_actions, rewards = [], []
    for t in range(6):
        state = torch.zeros(3)
        state[t % 3] = 1
        probs, state_value = model(Variable(state.unsqueeze(0)))
        action = probs.multinomial()
        saved_actions.append((action, state_value))
        rewards.append(1.0 if action.data[0, 0] == t % 3 else 0.0)
    n_right.append(sum(rewards))
    value_loss = 0
    for (action, value), r in zip(saved_actions, torch.Tensor(rewards)):
        reward = r - value.data[0, 0]
        action.reinforce(reward)
        value_loss += F.smooth_l1_loss(value, Variable(torch.Tensor([r])))
    optimizer.zero_grad()
    final_nodes = [value_loss] + list(map(lambda p: p[0], saved_actions))
    gradients = [torch.ones(1)] + [None] * len(saved_actions)
    autograd.backward(final_nodes, gradients)
    optimizer.step()
print(sum(n_right[:10]), sum(n_right[-10:]))
