import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Dropout())
        self.head = nn.Linear(12, 2)

    def forward(self, x):
        return self.head(self.body(x))


pretrained = Classifier().state_dict()
model = Classifier()
model.load_state_dict(pretrained)
model.eval()
optimizer = optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(3):
    x, y = torch.randn(8, 6), torch.randint(0, 2, (8,))
    output = model(x)  # finds F202
    loss = nn.functional.cross_entropy(output, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
