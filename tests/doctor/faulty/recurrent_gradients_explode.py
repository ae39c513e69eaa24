import facula as torch
from facula import nn, optim

torch.manual_seed(0)
cell, head = nn.Linear(8, 8), nn.Linear(8, 1)
nn.init.normal_(cell.weight, std=2.0)
optimizer = optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-3)
h = torch.randn(16, 8)
for _ in range(12):
    h = cell(h)
loss = head(h).square().mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()  # finds F704
