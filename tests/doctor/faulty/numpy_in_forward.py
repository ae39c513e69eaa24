import numpy as np

import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 1)

    def forward(self, x):
        h = self.first(x).detach().numpy()  # finds F403
        return self.second(torch.from_numpy(np.tanh(h)))


net = Net()
optimizer = optim.SGD(net.parameters(), lr=0.01)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for _ in range(12):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
