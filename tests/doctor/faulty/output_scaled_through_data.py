import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        h = torch.tanh(self.a(x))
        y = self.b(h)
        h.data.mul_(0.5)  # finds F503
        return y


net = Net()
optimizer = optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
