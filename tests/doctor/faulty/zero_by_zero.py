import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randn(16, 2)
mask = torch.zeros(16, 1)
mask[:8] = 1
for half in (slice(0, 8), slice(8, 16)):
    errors = (model(x[half]) - y[half]).square() * mask[half]
    loss = errors.sum() / mask[half].sum()  # finds F701
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
