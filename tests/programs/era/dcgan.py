"""DCGAN of 0.1.12: resize_ and copy_ into Variables, volatile noise, BCE of (n, 1) against (n)."""

import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable

torch.manual_seed(9)
batch_size, nz, ngf, ndf = 8, 6, 8, 8


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        m.weight.data.normal_(0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        m.weight.data.normal_(1.0, 0.02)
        m.bias.data.fill_(0)


netG = nn.Sequential(
    nn.ConvTranspose2d(nz, ngf, 4, 1, 0, bias=False),
    nn.BatchNorm2d(ngf),
    nn.ReLU(True),
    nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
    nn.Tanh(),
)
netG.apply(weights_init)


class _netD(nn.Module):
    def __init__(self):
        super(_netD, self).__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1, 1)


netD = _netD()
netD.apply(weights_init)
criterion = nn.BCELoss()

input = torch.FloatTensor(batch_size, 1, 8, 8)
noise = torch.FloatTensor(batch_size, nz, 1, 1)
fixed_noise = torch.FloatTensor(batch_size, nz, 1, 1).normal_(0, 1)
label = torch.FloatTensor(batch_size)
real_label, fake_label = 1, 0
input, label = Variable(input), Variable(label)
noise, fixed_noise = Variable(noise), Variable(fixed_noise)
optimizerD = optim.Adam(netD.parameters(), lr=0.01, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=0.01, betas=(0.5, 0.999))

for step in range(12):
    netD.zero_grad()
    real_cpu = torch.ones(batch_size, 1, 8, 8) * 0.5 + torch.randn(batch_size, 1, 8, 8) * 0.1
    input.data.resize_(real_cpu.size()).copy_(real_cpu)
    label.data.resize_(batch_size).fill_(real_label)
    output = netD(input)
    errD_real = criterion(output, label)
    errD_real.backward()
    D_x = output.data.mean()

    noise.data.resize_(batch_size, nz, 1, 1)
    noise.data.normal_(0, 1)
    fake = netG(noise)
    label.data.fill_(fake_label)
    output = netD(fake.detach())
    errD_fake = criterion(output, label)
    errD_fake.backward()
    D_G_z1 = output.data.mean()
    errD = errD_real + errD_fake
    optimizerD.step()

    netG.zero_grad()
    label.data.fill_(real_label)
    output = netD(fake)
    errG = criterion(output, label)
    errG.backward()
    D_G_z2 = output.data.mean()
    optimizerG.step()
    if step % 4 == 3:
        print(
            "[%d] Loss_D: %.4f Loss_G: %.4f D(x): %.4f D(G(z)): %.4f / %.4f"
            % (step, errD.data[0], errG.data[0], D_x, D_G_z1, D_G_z2)
        )
    assert type(D_x) is float

v = Variable(fixed_noise.data, volatile=True)
sample = netG(v)
assert sample.volatile and sample.detach().volatile and not sample.requires_grad
print("sample %.4f" % sample.data.mean())
