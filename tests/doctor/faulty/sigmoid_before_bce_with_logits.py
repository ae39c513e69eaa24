import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())
criterion = nn.BCEWithLogitsLoss()
optimizer = optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 4)
y = (x[:, :1] > 0).float()
for _ in range(3):
    optimizer.zero_grad()
    loss = criterion(model(x), y)  # finds F103
    loss.backward()
    optimizer.step()
