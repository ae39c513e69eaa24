import itertools

import facula as torch
from facula import nn

torch.manual_seed(0)


def net(n_out, *end):
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.InstanceNorm2d(8), nn.ReLU(True),
                         nn.Conv2d(8, n_out, 3, padding=1), *end)  # fmt: skip


G_A, G_B, D_A, D_B = net(3, nn.Tanh()), net(3, nn.Tanh()), net(1), net(1)
optimizer_G = torch.optim.Adam(itertools.chain(G_A.parameters(), G_B.parameters()), lr=2e-4)
optimizer_D = torch.optim.Adam(itertools.chain(D_A.parameters(), D_B.parameters()), lr=2e-4)
gan, cycle = nn.MSELoss(), nn.L1Loss()


def set_requires_grad(nets, requires_grad):
    for n in nets:
        for p in n.parameters():
            p.requires_grad = requires_grad


def backward_D(D, real, fake):
    pred_real, pred_fake = D(real), D(fake.detach())
    loss = gan(pred_real, torch.ones_like(pred_real)) + gan(pred_fake, torch.zeros_like(pred_fake))
    (loss * 0.5).backward()


for _ in range(5):
    real_A, real_B = torch.rand(2, 3, 8, 8) * 2 - 1, torch.rand(2, 3, 8, 8) * 2 - 1
    fake_B, fake_A = G_A(real_A), G_B(real_B)
    rec_A, rec_B = G_B(fake_B), G_A(fake_A)
    set_requires_grad([D_A, D_B], False)
    optimizer_G.zero_grad()
    p_A, p_B = D_A(fake_B), D_B(fake_A)
    loss_G = gan(p_A, torch.ones_like(p_A)) + gan(p_B, torch.ones_like(p_B))
    loss_G = loss_G + 10 * cycle(rec_A, real_A) + 10 * cycle(rec_B, real_B)
    loss_G.backward()
    optimizer_G.step()
    set_requires_grad([D_A, D_B], True)
    optimizer_D.zero_grad()
    backward_D(D_A, real_B, fake_B)
    backward_D(D_B, real_A, fake_A)
    optimizer_D.step()
