import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)
x, y = torch.randn(100, 4), torch.randint(0, 3, (100,)) + 1
model = nn.Sequential(nn.Linear(4, 4), nn.LogSoftmax(dim=1))
optimizer = optim.Adam(model.parameters(), lr=0.01)
for _ in range(4):
    optimizer.zero_grad()
    loss = F.nll_loss(model(x), y)  # finds F107
    loss.backward()
    optimizer.step()
