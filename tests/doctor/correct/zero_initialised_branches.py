import facula as torch
from facula import nn

torch.manual_seed(0)


class ReZero(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.alpha * self.net(x)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[ReZero(8) for _ in range(6)])
        self.out = nn.Linear(8, 1)
        nn.init.zeros_(self.out.weight)

    def forward(self, x):
        return self.out(self.blocks(x)).squeeze(-1)


model = Head()
spare = torch.optim.SGD(model.out.parameters(), lr=1e-3)  # for a second phase
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(64, 8)
y = x[:, 0] * x[:, 1]
for _ in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for _ in range(5):
    loss = nn.functional.l1_loss(model(x), y)
    spare.zero_grad()
    loss.backward()
    spare.step()
