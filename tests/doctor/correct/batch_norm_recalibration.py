import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(216, 2)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(32, 1, 8, 8), torch.randint(0, 2, (32,))
model.train()
for _ in range(6):
    for xb, yb in zip(x.split(8), y.split(8), strict=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(xb), yb).backward()
        optimizer.step()

# Statistics of the whole set for the final weights, instead of a running mean over old ones.
for m in model.modules():
    if isinstance(m, nn.BatchNorm2d):
        m.reset_running_stats()
        m.momentum = None
model.train()
with torch.no_grad():
    for xb in x.split(8):
        model(xb)
model.eval()
with torch.no_grad():
    accuracy = (model(x).argmax(1) == y).float().mean()
