import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes, width, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, width)
        self.codebook.weight.data.uniform_(-1 / n_codes, 1 / n_codes)
        self.beta = beta

    def forward(self, z):
        w = self.codebook.weight
        distances = z.pow(2).sum(1, keepdim=True) + w.pow(2).sum(1) - 2 * z @ w.t()
        indices = torch.argmin(distances, dim=1)
        q = self.codebook(indices)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        q = z + (q - z).detach()  # straight through
        return q, loss


encoder, decoder = nn.Linear(10, 4), nn.Linear(4, 10)
quantizer = VectorQuantizer(8, 4)
model = nn.ModuleList([encoder, quantizer, decoder])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(32, 10)
for _ in range(15):
    q, vq_loss = quantizer(encoder(x))
    loss = F.mse_loss(decoder(q), x) + vq_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
