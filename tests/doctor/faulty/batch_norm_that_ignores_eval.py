import facula as torch
import facula.nn.functional as F
from facula import nn

torch.manual_seed(0)


class Normed(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.register_buffer("mean", torch.zeros(n))
        self.register_buffer("var", torch.ones(n))

    def forward(self, x):
        return F.batch_norm(self.linear(x), self.mean, self.var, training=True)  # finds F204


net = nn.Sequential(Normed(4), nn.ReLU(), nn.Linear(4, 1))
net.eval()
with torch.no_grad():
    net(torch.randn(8, 4))
