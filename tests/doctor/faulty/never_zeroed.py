import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(5):
    loss = criterion(model(x), y)
    loss.backward()  # finds F301
    optimizer.step()
