import numpy as np

import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)
np.random.seed(0)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
smooth = nn.CrossEntropyLoss(label_smoothing=0.1)


def smoothed_by_hand(pred, target, eps=0.1):
    n_class = pred.size(1)
    one_hot = torch.zeros_like(pred).scatter(1, target.view(-1, 1), 1)
    one_hot = one_hot * (1 - eps) + (1 - one_hot) * eps / (n_class - 1)
    return -(one_hot * F.log_softmax(pred, dim=1)).sum(dim=1).mean()


x, y = torch.randn(32, 6), torch.randint(0, 4, (32,))
for _ in range(12):
    lam, index = float(np.random.beta(0.4, 0.4)), torch.randperm(32)
    out = model(lam * x + (1 - lam) * x[index])  # mixup
    mixed = lam * F.one_hot(y, 4).float() + (1 - lam) * F.one_hot(y[index], 4).float()
    loss = lam * smooth(out, y) + (1 - lam) * smooth(out, y[index])
    loss = loss + F.cross_entropy(out, mixed) + smoothed_by_hand(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
