import copy

import facula as torch
from facula import nn

torch.manual_seed(0)


class EMA:
    def __init__(self, model, decay):
        self.module = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for ours, theirs in zip(self.module.parameters(), model.parameters(), strict=True):
            ours.mul_(self.decay).add_(theirs, alpha=1 - self.decay)
        for ours, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
            ours.copy_(theirs)


model = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
ema = EMA(model, 0.9)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(64, 5), torch.randint(0, 2, (64,))
for epoch in range(15):
    model.train()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(model)
    if epoch % 5 == 4:
        with torch.no_grad():
            print((ema.module(x).argmax(1) == y).float().mean().item())
