import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
optimizer = optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(3):
    optimizer.zero_grad()
    log_p = F.log_softmax(model(x), dim=1)  # finds F104
    loss = F.nll_loss(log_p, y)
    loss.backward()
    optimizer.step()
