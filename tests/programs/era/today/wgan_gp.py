"""As the program of this name, in the form of today."""

import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(1)
BATCH, LAMBDA = 16, 0.1


def weights(net):
    return [p.data.norm() for p in net.parameters()]


netG = nn.Sequential(nn.Linear(2, 16), nn.ReLU(True), nn.Linear(16, 2))
netD = nn.Sequential(nn.Linear(2, 16), nn.ReLU(True), nn.Linear(16, 1))
optimizerD = optim.Adam(netD.parameters(), lr=1e-2, betas=(0.5, 0.9))
optimizerG = optim.Adam(netG.parameters(), lr=1e-2, betas=(0.5, 0.9))
one = torch.FloatTensor([1])
mone = one * -1


def calc_gradient_penalty(netD, real_data, fake_data):
    alpha = torch.rand(BATCH, 1)
    alpha = alpha.expand(real_data.size())
    interpolates = alpha * real_data + ((1 - alpha) * fake_data)
    interpolates = interpolates.requires_grad_()
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(
        outputs=disc_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones(disc_interpolates.size()),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


for iteration in range(9):
    for p in netD.parameters():
        p.requires_grad = True
    for iter_d in range(2):
        real_data = torch.randn(BATCH, 2) * 0.1 + 1
        real_data_v = real_data
        netD.zero_grad()
        D_real = netD(real_data_v)
        D_real = D_real.mean()
        D_real.backward(mone.view(()))
        noise = torch.randn(BATCH, 2)
        noisev = noise
        fake = netG(noisev).data
        D_fake = netD(fake).mean()
        D_fake.backward(one.view(()))
        gradient_penalty = calc_gradient_penalty(netD, real_data_v.data, fake.data)
        gradient_penalty.backward()
        D_cost = D_fake - D_real + gradient_penalty
        Wasserstein_D = D_real - D_fake
        optimizerD.step()
    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    fake = netG(torch.randn(BATCH, 2))
    G = netD(fake).mean()
    G.backward(mone.view(()))
    G_cost = -G
    optimizerG.step()
    if iteration % 3 == 2:
        print(
            "%d D %.4f G %.4f W %.4f"
            % (iteration, D_cost.item(), G_cost.item(), Wasserstein_D.item())
        )
