import facula as torch
from facula import nn, optim
from facula.nn import functional as F

torch.manual_seed(2)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
g_opt, d_opt = optim.RMSprop(G.parameters(), lr=1e-3), optim.RMSprop(D.parameters(), lr=1e-3)


def reset_grad():
    g_opt.zero_grad()
    d_opt.zero_grad()


for _ in range(30):
    z = torch.randn(16, 4)
    x = torch.randn(16, 2) + 3
    d_real, d_fake = D(x), D(G(z))
    loss_d = F.binary_cross_entropy_with_logits(d_real, torch.ones(16, 1))
    loss_d = loss_d + F.binary_cross_entropy_with_logits(d_fake, torch.zeros(16, 1))
    loss_d.backward()
    d_opt.step()
    reset_grad()  # also throws away what the discriminator's loss left in the generator

    z = torch.randn(16, 4)
    loss_g = F.binary_cross_entropy_with_logits(D(G(z)), torch.ones(16, 1))
    loss_g.backward()
    g_opt.step()
    reset_grad()
