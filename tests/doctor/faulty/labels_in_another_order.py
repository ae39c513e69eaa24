import facula as torch
from facula import nn
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(150, 5), torch.randint(0, 2, (150,))
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, labels in DataLoader(TensorDataset(x[:100], y[:100]), 20, shuffle=True):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
test_y = y[100:]
loader = DataLoader(TensorDataset(x[100:], test_y), 10, shuffle=True)
with torch.no_grad():
    predictions = torch.cat([model(inputs).argmax(1) for inputs, _ in loader])
print((predictions == test_y).float().mean())  # finds F807
