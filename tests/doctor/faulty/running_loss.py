import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))
running_loss = 0.0
for batch, target in zip(x.split(8), y.split(8), strict=True):
    optimizer.zero_grad()
    loss = criterion(model(batch), target)
    loss.backward()
    optimizer.step()
    running_loss += loss  # finds F501
print(f"loss: {running_loss / 8:.3f}")
