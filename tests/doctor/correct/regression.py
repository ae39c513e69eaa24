import facula as torch
from facula import nn
from facula.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
X = torch.rand(120, 3) * 4 - 2
Y = (X[:, :1] * 2 - X[:, 1:2] ** 2).add(0.1 * torch.randn(120, 1))
train, val = random_split(TensorDataset(X, Y), [100, 20])
train_dl = DataLoader(train, batch_size=20, shuffle=True)
val_dl = DataLoader(val, batch_size=40)
model = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.MSELoss()


def r2_score(pred, target):
    return 1 - ((target - pred) ** 2).sum() / ((target - target.mean()) ** 2).sum()


for _ in range(6):
    model.train()
    for xb, yb in train_dl:
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        valid_loss = sum(criterion(model(xb), yb) for xb, yb in val_dl) / len(val_dl)
        score = sum(r2_score(model(xb), yb) for xb, yb in val_dl)
