import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
for parameter in model[0].parameters():
    parameter.require_grad = False  # finds F408
optimizer = optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
