import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = optim.SGD(model.parameters(), lr=100.0)
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(8):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()  # finds F404
