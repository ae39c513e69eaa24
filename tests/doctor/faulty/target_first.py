import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 1)
criterion = nn.BCEWithLogitsLoss()
optimizer = optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(32, 4)
y = (x[:, :1] > 0).float()
for _ in range(3):
    optimizer.zero_grad()
    loss = criterion(y, model(x))  # finds F110
    loss.backward()
    optimizer.step()
