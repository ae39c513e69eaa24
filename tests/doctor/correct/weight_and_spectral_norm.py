import facula as torch
from facula import nn
from facula.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm

torch.manual_seed(0)


class TCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = weight_norm(nn.Conv1d(2, 8, 3, padding=2))
        self.lin = spectral_norm(nn.Linear(8, 8))
        self.rot = orthogonal(nn.Linear(8, 8, bias=False))
        self.out = weight_norm(nn.Linear(8, 1))

    def forward(self, x):
        h = torch.relu(self.conv(x)[..., :-2]).mean(-1)
        return self.out(self.rot(torch.relu(self.lin(h))))


model = TCN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(12, 2, 10), torch.randn(12, 1)
for _ in range(10):
    model.train()
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        error = nn.functional.l1_loss(model(x), y)
