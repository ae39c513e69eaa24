import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.stack = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))

    def forward(self, x):
        return self.stack(self.flatten(x))


images = torch.randint(0, 256, (16, 1, 8, 8)).float()
labels = torch.randint(0, 10, (16,))
model = MLP()
optimizer = optim.SGD(model.parameters(), lr=1e-5)
for _ in range(3):
    output = model(images)  # finds F804
    loss = nn.functional.cross_entropy(output, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
