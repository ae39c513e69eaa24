import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Linear(4, 3).eval()
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
with torch.no_grad():
    _, predicted = model(x).topk(1, dim=1)
    correct = predicted.eq(y).sum().item()  # finds F111
