import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = optim.SGD(model.parameters(), lr=0.1)
criterion = nn.BCELoss()
x = torch.randn(64, 4)
y = (x.sum(1, keepdim=True) > 0).float()
for _ in range(3):
    optimizer.zero_grad()
    output = torch.clamp(model(x), 1e-7, 1 - 1e-7)
    loss = criterion(output, y)  # finds F109
    loss.backward()
    optimizer.step()
