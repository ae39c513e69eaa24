import facula as torch
from facula import nn

torch.manual_seed(0)
T = 20
betas = torch.linspace(1e-4, 0.2, T)
alphas = 1 - betas
alphas_bar = torch.cumprod(alphas, 0)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(T, 16)
        self.net = nn.Sequential(nn.Linear(18, 32), nn.SiLU(), nn.Linear(32, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], dim=-1))


model = Denoiser()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(20):
    x0 = torch.randn(32, 2) * 0.1 + torch.tensor([1.0, -1.0])
    t = torch.randint(0, T, (32,))
    noise = torch.randn_like(x0)
    a = alphas_bar[t].unsqueeze(1)
    loss = nn.functional.mse_loss(model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@torch.no_grad()
def sample(n):
    x = torch.randn(n, 2)
    for i in reversed(range(T)):
        eps = model(x, torch.full((n,), i))
        x = (x - betas[i] / (1 - alphas_bar[i]).sqrt() * eps) / alphas[i].sqrt()
        if i > 0:
            x = x + betas[i].sqrt() * torch.randn_like(x)
    return x


sample(8)
