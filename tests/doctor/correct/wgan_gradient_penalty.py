import facula as torch
from facula import autograd, nn, optim

torch.manual_seed(4)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_G = optim.Adam(G.parameters(), lr=1e-4, betas=(0.0, 0.9))
opt_D = optim.Adam(D.parameters(), lr=1e-4, betas=(0.0, 0.9))


def compute_gradient_penalty(D, real, fake):
    alpha = torch.rand(real.size(0), 1)
    interpolates = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    d_interpolates = D(interpolates)
    gradients = autograd.grad(
        outputs=d_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones_like(d_interpolates),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


for step in range(15):
    real = torch.randn(16, 2) + 2
    opt_D.zero_grad()
    fake = G(torch.randn(16, 4))
    penalty = compute_gradient_penalty(D, real.data, fake.data)
    d_loss = -torch.mean(D(real)) + torch.mean(D(fake)) + 10 * penalty
    d_loss.backward()
    opt_D.step()
    opt_G.zero_grad()
    if step % 5 == 0:
        g_loss = -torch.mean(D(G(torch.randn(16, 4))))
        g_loss.backward()
        opt_G.step()
