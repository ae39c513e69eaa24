import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, value, n):
        self.sum += value * n
        self.count += n


meter, running, detached, smooth = AverageMeter(), 0.0, torch.zeros(()), None
for _ in range(6):
    epoch = torch.zeros(())
    for _ in range(4):
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        data_loss = nn.functional.mse_loss(model(x), y)
        l2 = torch.tensor(0.0)
        for p in model.parameters():
            l2 = l2 + p.pow(2).sum()
        loss = data_loss + 1e-4 * l2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
        meter.update(loss.item(), len(x))
        detached += loss.detach()
        epoch += loss.data
        smooth = loss.detach() if smooth is None else 0.9 * smooth + 0.1 * loss.detach()
