import facula as torch
import facula.nn.functional as F
from facula import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    probabilities = F.softmax(model(x), dim=1)
    accuracy = (probabilities.argmax(1) == y).float().mean()
    valid_loss = F.cross_entropy(probabilities, y)  # finds F101
