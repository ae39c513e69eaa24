import facula as torch
from facula import nn, optim

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2), nn.Tanh())
D = nn.Sequential(
    nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(32, 1), nn.Sigmoid()
)
criterion = nn.BCELoss()
optimizerD = optim.Adam(D.parameters(), lr=0.0002, betas=(0.5, 0.999))
optimizerG = optim.Adam(G.parameters(), lr=0.0002, betas=(0.5, 0.999))
fixed_noise = torch.randn(16, 8)

for epoch in range(20):
    real = torch.randn(16, 2) * 0.1 + 0.5
    # (1) Update D: maximise log(D(x)) + log(1 - D(G(z)))
    D.zero_grad()
    label = torch.full((16,), 1.0)
    output = D(real).view(-1)
    errD_real = criterion(output, label)
    errD_real.backward()
    D_x = output.mean().item()
    fake = G(torch.randn(16, 8))
    label.fill_(0.0)
    output = D(fake.detach()).view(-1)
    errD_fake = criterion(output, label)
    errD_fake.backward()
    errD = errD_real + errD_fake
    optimizerD.step()
    # (2) Update G: maximise log(D(G(z)))
    G.zero_grad()
    label.fill_(1.0)
    output = D(fake).view(-1)
    errG = criterion(output, label)
    errG.backward()
    optimizerG.step()
    if epoch % 5 == 0:
        with torch.no_grad():
            images = G(fixed_noise).detach().cpu()
        print(errD.item(), errG.item(), D_x, images.mean().item())
