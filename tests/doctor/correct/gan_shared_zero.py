import facula as torch
import facula.nn as nn

torch.manual_seed(1)
latent_dim = 6


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(latent_dim, 24), nn.LeakyReLU(0.2), nn.Linear(24, 4))

    def forward(self, z):
        return self.model(z).tanh()


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(4, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))

    def forward(self, img):
        return torch.sigmoid(self.model(img))


adversarial_loss = nn.BCELoss()
generator, discriminator = Generator(), Discriminator()
optimizer_G = torch.optim.Adam(generator.parameters(), lr=2e-4)
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=2e-4)

for _ in range(25):
    real_imgs = torch.rand(12, 4) * 2 - 1
    valid, fake = torch.ones(12, 1), torch.zeros(12, 1)

    # Generator first: its loss leaves gradients in the discriminator, which are zeroed below.
    optimizer_G.zero_grad()
    gen_imgs = generator(torch.randn(12, latent_dim))
    g_loss = adversarial_loss(discriminator(gen_imgs), valid)
    g_loss.backward()
    optimizer_G.step()

    optimizer_D.zero_grad()
    real_loss = adversarial_loss(discriminator(real_imgs), valid)
    fake_loss = adversarial_loss(discriminator(gen_imgs.detach()), fake)
    d_loss = (real_loss + fake_loss) / 2
    d_loss.backward()
    optimizer_D.step()
