# era: 0.4
"""A program of 0.4: item() beside loss.data[0], masks of uint8, tensors without dimensions."""

import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.randn(20, 3).to(device)
y = torch.tensor([1.0 if row[0] > 0 else 0.0 for row in x])
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
criterion = nn.BCEWithLogitsLoss(reduction="elementwise_mean")
for step in range(21):
    optimizer.zero_grad()
    loss = criterion(model(Variable(x)).squeeze(1), y)
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, "%.4f %.4f" % (loss.item(), loss.data[0]))
mask = model(x).squeeze(1) > 0
print(mask.dtype, (1 - mask).sum().item() + mask.sum().item(), loss.dim(), x[mask].shape[1])
print(torch.tensor(7) / 2, torch.arange(3), (mask == y.byte()).float().mean().item())
