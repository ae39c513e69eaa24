import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(), nn.Linear(32, 1)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = torch.randn(30, 4), torch.randn(30, 1)


def enable_dropout(model):
    for m in model.modules():
        if m.__class__.__name__.startswith("Dropout"):
            m.train()


model.train()
for _ in range(10):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
model.eval()
enable_dropout(model)
with torch.no_grad():
    draws = torch.stack([model(x) for _ in range(10)])
    rmse = ((draws.mean(0) - y) ** 2).mean().sqrt()
    nll = torch.distributions.Normal(draws.mean(0), draws.std(0) + 0.1).log_prob(y).mean()
    worst = torch.stack([nn.functional.mse_loss(model(x), y) for _ in range(3)]).max()
