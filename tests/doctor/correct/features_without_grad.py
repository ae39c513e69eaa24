import facula as torch
from facula import nn

torch.manual_seed(0)


class LinearProbe(nn.Module):
    def __init__(self, encoder, n_classes):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(16, n_classes)

    def forward(self, x):
        with torch.no_grad():
            features = self.encoder(x)
        return self.head(features)


encoder = nn.Sequential(nn.Conv1d(2, 16, 3), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten())
probe = LinearProbe(encoder, 3)
optimizer = torch.optim.SGD(probe.head.parameters(), lr=0.1, momentum=0.9, nesterov=True)
x, y = torch.randn(30, 2, 20), torch.randint(0, 3, (30,))
for _ in range(15):
    optimizer.zero_grad()
    loss = nn.CrossEntropyLoss()(probe(x), y)
    loss.backward()
    optimizer.step()
