import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.Sigmoid())
optimizer = optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(3):
    optimizer.zero_grad()
    loss = criterion(model(x), y)  # finds F108
    loss.backward()
    optimizer.step()
