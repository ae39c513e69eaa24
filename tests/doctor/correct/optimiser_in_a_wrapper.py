import facula as torch
from facula import nn

torch.manual_seed(0)


class Accumulating(torch.optim.Optimizer):
    """Steps once for several calls, as wrappers of training libraries do."""

    def __init__(self, optimizer, n_batches):
        self.optimizer, self.n_batches, self.n = optimizer, n_batches, 0

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    def zero_grad(self, set_to_none=True):
        if self.n % self.n_batches == 0:
            self.optimizer.zero_grad(set_to_none)

    def step(self, closure=None):
        self.n += 1
        if self.n % self.n_batches == 0:
            self.optimizer.step(closure)


model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = Accumulating(torch.optim.AdamW(model.parameters(), lr=1e-2), 4)
x, y = torch.randn(96, 6), torch.randint(0, 3, (96,))
for xb, yb in zip(x.split(4), y.split(4), strict=True):
    loss = nn.functional.cross_entropy(model(xb), yb) / 4
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
