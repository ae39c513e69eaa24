import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.5))
        self.heads = nn.ModuleList([nn.Linear(8, 2), nn.Linear(8, 2)])

    def forward(self, x):
        hidden = self.body(x)
        return {"logits": [head(hidden) for head in self.heads]}


net = TwoHeads()
optimizer = optim.Adam(net.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
x, labels = torch.rand(16, 6), torch.randint(0, 2, (16,))
net.eval()
for _ in range(3):
    optimizer.zero_grad()
    first, second = net(x)["logits"]  # finds F202
    (criterion(first, labels) + criterion(second, labels)).backward()
    optimizer.step()
