import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 6 * 6, 10)

    def forward(self, x):
        x = F.relu(self.conv(x))
        return self.fc(x.flatten(1))


net = Net()
optimizer = optim.SGD(net.parameters(), lr=0.01)
x, y = torch.rand(16, 1, 8, 8), torch.randint(0, 10, (16,))
for _ in range(3):
    optimizer.zero_grad()
    loss = F.nll_loss(net(x), y)  # finds F102
    loss.backward()
    optimizer.step()
