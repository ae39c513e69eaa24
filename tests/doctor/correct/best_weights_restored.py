import copy

import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model, average = nn.Linear(4, 1), nn.Linear(4, 1)
average.load_state_dict(model.state_dict())
optimizer = optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randn(32, 1)
best, best_loss = None, float("inf")
for _ in range(8):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for mean, p in zip(average.parameters(), model.parameters(), strict=True):
            mean.mul_(0.9).add_(p, alpha=0.1)
    if loss.item() < best_loss:
        best, best_loss = copy.deepcopy(model.state_dict()), loss.item()
model.load_state_dict(best)
backup = {name: value.clone() for name, value in model.state_dict().items()}
model.load_state_dict(average.state_dict())
model.load_state_dict(backup)
