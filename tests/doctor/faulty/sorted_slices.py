import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)
x, y = torch.randn(160, 4), torch.tensor([0] * 80 + [1] * 80)
model = nn.Sequential(nn.Linear(4, 2), nn.LogSoftmax(1))
optimizer = optim.Adam(model.parameters(), lr=0.01)
for start in range(0, 160, 16):
    optimizer.zero_grad()
    log_p = model(x[start : start + 16])
    F.nll_loss(log_p, y[start : start + 16]).backward()  # finds F801
    optimizer.step()
