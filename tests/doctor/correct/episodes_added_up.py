import facula as torch
from facula import nn
from facula.utils.data import DataLoader, TensorDataset

# Sums with graphs that backward goes through, or that end with their batch.
torch.manual_seed(0)
cell, out = nn.GRUCell(3, 8), nn.Linear(8, 3)
optimizer = torch.optim.Adam([*cell.parameters(), *out.parameters()])
loader = DataLoader(TensorDataset(torch.randn(48, 6, 3)), 8)


def loss_of(steps):
    h, loss = torch.zeros(8, 8), 0
    for x in steps.transpose(0, 1):
        h = cell(x, h)
        loss += (out(h) - x).pow(2).mean()
    return loss


for _ in range(3):
    for (steps,) in loader:
        optimizer.zero_grad()
        loss_of(steps).backward()
        optimizer.step()
    print(sum(loss_of(steps).item() for (steps,) in loader))  # without no_grad()
    whole = 0
    for (steps,) in loader:
        whole = whole + loss_of(steps)
    optimizer.zero_grad()
    whole.backward()
    optimizer.step()
