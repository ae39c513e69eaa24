import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(64, 4)
y = (x[:, 0] > 0).float()


@torch.no_grad()
def accuracy():
    probability = torch.sigmoid(model(x).squeeze(1))  # finds F201
    return ((probability > 0.5) == y.bool()).float().mean().item()


for _ in range(3):
    optimizer.zero_grad()
    criterion(model(x).squeeze(1), y).backward()
    optimizer.step()
    accuracy()
