import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3))
optimizer = optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))
for _ in range(5):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
with torch.no_grad():
    predicted = model(x).argmax(dim=1)  # finds F201
    print("accuracy:", (predicted == y).float().mean().item())
