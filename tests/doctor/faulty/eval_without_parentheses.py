import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 2))
optimizer = optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
model.eval  # noqa: B018
with torch.no_grad():
    _, predicted = torch.max(model(x), 1)  # finds F201
