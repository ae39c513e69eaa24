import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 2)
model(torch.ones(1, 4))  # to see its shape
optimizer = optim.SGD(model.parameters(), lr=0.1)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
rates = []
for _ in range(20):
    rates.append(optimizer.param_groups[0]["lr"])
    optimizer.step()
    scheduler.step()
assert max(rates) == rates[0]
