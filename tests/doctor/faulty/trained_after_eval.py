import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3))
optimizer = optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))


def evaluate():
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


for _ in range(3):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)  # finds F202
    loss.backward()
    optimizer.step()
    evaluate()
