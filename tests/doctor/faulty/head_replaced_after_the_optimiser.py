import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
        self.fc = nn.Linear(16, 1000)

    def forward(self, x):
        return self.fc(self.body(x))


model = Net()
optimizer = optim.SGD(model.parameters(), lr=0.1)  # finds F401
model.fc = nn.Linear(16, 3)
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(4):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
