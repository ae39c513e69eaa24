import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(5):
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.zero_grad()  # finds F302
    optimizer.step()
