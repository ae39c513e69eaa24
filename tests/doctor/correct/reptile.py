import copy

import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
for iteration in range(10):
    weights_before = copy.deepcopy(model.state_dict())
    phase = torch.rand(())
    x = torch.linspace(-3, 3, 20).view(-1, 1)
    y = torch.sin(x + phase)
    for _ in range(3):
        model.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        for param in model.parameters():
            param.data -= 0.02 * param.grad.data
    after = model.state_dict()
    step = 0.1 * (1 - iteration / 10)
    model.load_state_dict(
        {name: old + (after[name] - old) * step for name, old in weights_before.items()}
    )
