import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(32, 4), torch.randn(32, 1)
is_known = torch.arange(32) < 24
for start in range(0, 32, 8):
    rows = slice(start, start + 8)
    errors = (model(x[rows]) - y[rows]).abs()
    loss = errors[is_known[rows]].mean()  # finds F701
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
