import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(8, 4)
optimizer = optim.SGD(model.parameters(), lr=100)
criterion = nn.CrossEntropyLoss()
x, y = torch.randn(64, 8), torch.randint(0, 4, (64,))
for i in range(10):
    batch = slice(i * 6, i * 6 + 6)
    loss = criterion(model(x[batch]), y[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # finds F404
