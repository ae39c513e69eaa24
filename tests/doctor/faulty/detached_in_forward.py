import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Linear(4, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        h = torch.relu(self.features(x))
        return self.head(h.detach())  # finds F403


net = Net()
optimizer = optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
for _ in range(12):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
