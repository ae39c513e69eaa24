import copy

import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
outer = optim.SGD(model.parameters(), lr=0.1)

# First-order: the gradient at the adapted copy moves the initial weights.
for _ in range(6):
    outer.zero_grad()
    for task in range(3):
        learner = copy.deepcopy(model)
        inner = optim.SGD(learner.parameters(), lr=0.05)
        x = torch.randn(16, 2)
        y = (x[:, 0] * (task + 1) > x[:, 1]).long()
        for _ in range(3):
            inner.zero_grad()
            nn.functional.cross_entropy(learner(x[:8]), y[:8]).backward()
            inner.step()
        query = nn.functional.cross_entropy(learner(x[8:]), y[8:])
        grads = torch.autograd.grad(query, list(learner.parameters()))
        for p, g in zip(model.parameters(), grads, strict=True):
            p.grad = g.clone() if p.grad is None else p.grad + g
    outer.step()
