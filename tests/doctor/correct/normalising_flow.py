import math

import facula as torch
from facula import nn

torch.manual_seed(0)


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 2))
        self.flip = flip
        nn.init.zeros_(self.net[2].weight)
        nn.init.zeros_(self.net[2].bias)

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        b = b * torch.exp(torch.tanh(s)) + t
        return torch.cat([b, a] if self.flip else [a, b], dim=1), torch.tanh(s).sum(1)


flow = nn.ModuleList([Coupling(i % 2 == 1) for i in range(4)])
optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
for _ in range(12):
    z = torch.randn(32, 2) @ torch.tensor([[1.0, 0.5], [0.0, 0.3]])
    log_det = 0
    for layer in flow:
        z, d = layer(z)
        log_det = log_det + d
    log_prob = (-0.5 * z**2 - 0.5 * math.log(2 * math.pi)).sum(1) + log_det
    loss = -log_prob.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
