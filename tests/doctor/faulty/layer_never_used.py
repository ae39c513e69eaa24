import facula as torch
from facula import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 8)  # finds F603
        self.fc3 = nn.Linear(8, 2)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc1(x)))


model = Net()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(12):
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
