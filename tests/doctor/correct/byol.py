import copy

import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, n_out))


online, predictor = mlp(10, 8), mlp(8, 8)
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(list(online.parameters()) + list(predictor.parameters()), lr=0.05)


def regression_loss(x, y):
    return 2 - 2 * (F.normalize(x, dim=1) * F.normalize(y, dim=1)).sum(dim=-1)


for step in range(12):
    x = torch.randn(16, 10)
    v1, v2 = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    p1, p2 = predictor(online(v1)), predictor(online(v2))
    with torch.no_grad():
        t1, t2 = target(v1), target(v2)  # in training mode: statistics of the batch
    loss = (regression_loss(p1, t2) + regression_loss(p2, t1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tau = 0.99 + 0.01 * step / 12
    for q, k in zip(online.parameters(), target.parameters(), strict=True):
        k.data = k.data * tau + q.data * (1.0 - tau)
