import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return F.log_softmax(self.fc(x), dim=0)  # finds F105


net = Net()
optimizer = optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(3):
    optimizer.zero_grad()
    F.nll_loss(net(x), y).backward()
    optimizer.step()
