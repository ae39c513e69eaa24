import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Linear(4, 2).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
sigma, n_pairs = 0.1, 8
for _ in range(15):
    grads = [torch.zeros_like(p) for p in model.parameters()]
    for _ in range(n_pairs):
        noise = [torch.randn_like(p) for p in model.parameters()]
        losses = []
        for sign in (1, -1):
            for p, n in zip(model.parameters(), noise, strict=True):
                p += sign * sigma * n
            losses.append(nn.functional.cross_entropy(model(x), y))
            for p, n in zip(model.parameters(), noise, strict=True):
                p -= sign * sigma * n
        for g, n in zip(grads, noise, strict=True):
            g += (losses[0] - losses[1]) / (2 * sigma * n_pairs) * n
    for p, g in zip(model.parameters(), grads, strict=True):
        p.grad = g
    optimizer.step()
