import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3), nn.Softmax(dim=1))
optimizer = optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(5):
    optimizer.zero_grad()
    loss = criterion(model(x), y)  # finds F101
    loss.backward()
    optimizer.step()
