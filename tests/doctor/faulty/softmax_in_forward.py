import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 16)
        self.fc2 = nn.Linear(16, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return F.softmax(self.fc2(x), dim=1)


net = Net()
optimizer = optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(5):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)  # finds F101
    loss.backward()
    optimizer.step()
