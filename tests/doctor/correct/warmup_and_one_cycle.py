import math

import facula as torch
from facula import nn, optim

torch.manual_seed(0)
x, y = torch.randn(40, 5), torch.randint(0, 3, (40,))


def train(make_scheduler):
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = make_scheduler(optimizer)
    for _ in range(5):
        for xb, yb in zip(x.split(8), y.split(8), strict=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(xb), yb).backward()
            optimizer.step()
            scheduler.step()


def warmup_cosine(step):
    if step < 5:
        return step / 5
    return 0.5 * (1 + math.cos(math.pi * (step - 5) / 20))


train(lambda o: optim.lr_scheduler.LambdaLR(o, warmup_cosine))
train(lambda o: optim.lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=25))
train(lambda o: optim.lr_scheduler.CosineAnnealingLR(o, T_max=25))
train(lambda o: optim.lr_scheduler.ExponentialLR(o, gamma=0.98))
train(lambda o: optim.lr_scheduler.StepLR(o, step_size=10, gamma=0.5))
train(lambda o: optim.lr_scheduler.CyclicLR(o, base_lr=0.01, max_lr=0.1, step_size_up=5))
train(
    lambda o: optim.lr_scheduler.SequentialLR(
        o,
        [
            optim.lr_scheduler.LinearLR(o, 0.1, total_iters=5),
            optim.lr_scheduler.CosineAnnealingLR(o, T_max=20),
        ],
        milestones=[5],
    )
)
