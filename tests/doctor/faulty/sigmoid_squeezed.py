import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, x):
        return torch.sigmoid(self.layers(x)).squeeze(-1)


net = Discriminator()
optimizer = optim.Adam(net.parameters(), lr=0.002, betas=(0.5, 0.999))
real = torch.randn(16, 2)
for _ in range(3):
    optimizer.zero_grad()
    errors = F.binary_cross_entropy_with_logits(net(real), torch.ones(16))  # finds F103
    errors.backward()
    optimizer.step()
