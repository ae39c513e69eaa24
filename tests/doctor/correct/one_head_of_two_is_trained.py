import facula as torch
from facula import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.classes, self.number = nn.Linear(8, 3), nn.Linear(8, 1)

    def forward(self, x, task="classes"):
        h = torch.relu(self.body(x))
        return self.classes(h) if task == "classes" else self.number(h)


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 3)

    def forward(self, x):
        for name in ("first",):
            x = getattr(self, name)(x)
        return x[:, :3]


for model in (Net(), Named()):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(12):
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
