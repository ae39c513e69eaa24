import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3)
        self.relu = nn.ReLU(inplace=True)
        self.fc = nn.Linear(16, 2)
        nn.init.constant_(self.conv.bias, -5)

    def forward(self, x):
        x = self.relu(self.conv(x))  # finds F702
        return self.fc(x.mean((2, 3)))


net = Net()
optimizer = optim.Adam(net.parameters(), lr=1e-3)
x, y = torch.rand(8, 1, 6, 6), torch.randint(0, 2, (8,))
for _ in range(70):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
