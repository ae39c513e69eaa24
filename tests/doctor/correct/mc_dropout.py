import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


class BayesianNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 32), nn.Linear(32, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(x, p=0.5, training=True)  # also in evaluation, on purpose
        return self.fc2(x)


model = BayesianNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = torch.randn(30, 4), torch.randint(0, 3, (30,))
for _ in range(10):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    probs = torch.stack([F.softmax(model(x), dim=1) for _ in range(8)])
mean, uncertainty = probs.mean(0), probs.std(0)
accuracy = (mean.argmax(1) == y).float().mean()
