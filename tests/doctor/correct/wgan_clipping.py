import facula as torch
from facula import nn, optim

torch.manual_seed(3)
netG = nn.Sequential(nn.Linear(4, 16), nn.ReLU(True), nn.Linear(16, 2))
netD = nn.Sequential(nn.Linear(2, 16), nn.ReLU(True), nn.Linear(16, 1))
optimizerD = optim.RMSprop(netD.parameters(), lr=5e-5)
optimizerG = optim.RMSprop(netG.parameters(), lr=5e-5)
one, mone = torch.tensor(1.0), torch.tensor(-1.0)

for _ in range(6):
    for p in netD.parameters():
        p.requires_grad = True
    for _ in range(5):
        for p in netD.parameters():
            p.data.clamp_(-0.01, 0.01)
        netD.zero_grad()
        errD_real = netD(torch.randn(16, 2)).mean()
        errD_real.backward(one)
        with torch.no_grad():
            fake = netG(torch.randn(16, 4))
        errD_fake = netD(fake).mean()
        errD_fake.backward(mone)
        optimizerD.step()
    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    errG = netD(netG(torch.randn(16, 4))).mean()
    errG.backward(one)
    optimizerG.step()
