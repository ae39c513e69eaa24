import facula as torch
from facula import nn, optim
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(96, 4)
train = DataLoader(TensorDataset(x[:64], x[:64].sum(1, keepdim=True)), 16, shuffle=True)
valid = DataLoader(TensorDataset(x[64:], x[64:].sum(1, keepdim=True)), 16)
for _ in range(2):
    model.train()
    for inputs, targets in train:
        optimizer.zero_grad()
        criterion(model(inputs), targets).backward()
        optimizer.step()
    with torch.no_grad():
        total = 0.0
        for inputs, targets in valid:
            outputs = model(inputs)  # finds F201
            total += criterion(outputs, targets).item()
