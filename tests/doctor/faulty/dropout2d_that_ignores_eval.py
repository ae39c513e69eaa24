import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        x = F.relu(self.conv(x))
        x = F.dropout2d(x, p=0.2).mean((2, 3))  # finds F203
        return self.fc(x)


net = Net()
optimizer = optim.SGD(net.parameters(), lr=0.1)
x, y = torch.rand(8, 1, 6, 6), torch.randint(0, 4, (8,))
for _ in range(2):
    net.train()
    optimizer.zero_grad()
    F.cross_entropy(net(x), y).backward()
    optimizer.step()
    net.eval()
    with torch.no_grad():
        accuracy = (net(x).argmax(1) == y).float().mean()
