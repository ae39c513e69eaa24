import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
old = {n: p.detach().clone() for n, p in model.named_parameters()}
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(32, 6), torch.randint(0, 2, (32,))

# Elastic weight consolidation: the Fisher information of the first task holds the weights.
fisher = {n: torch.zeros_like(p) for n, p in model.named_parameters()}
for xi, yi in zip(x[:8], y[:8], strict=True):
    model.zero_grad()
    F.nll_loss(F.log_softmax(model(xi[None]), dim=1), yi[None]).backward()
    for n, p in model.named_parameters():
        fisher[n] += p.grad.detach() ** 2 / 8
for _ in range(12):
    optimizer.zero_grad()
    penalty = sum((fisher[n] * (p - old[n]) ** 2).sum() for n, p in model.named_parameters())
    lasso = sum(p.abs().sum() for p in model.parameters() if p.dim() > 1)
    loss = F.cross_entropy(model(x), y) + 100 * penalty + 1e-4 * lasso
    loss.backward()
    optimizer.step()
