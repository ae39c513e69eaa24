import facula as torch
from facula import nn, optim
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
features = torch.randn(64, 3)
prices = features.sum(1)
loader = DataLoader(TensorDataset(features, prices), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.01)
for batch, price in loader:
    optimizer.zero_grad()
    loss = criterion(model(batch), price)  # finds F106
    loss.backward()
    optimizer.step()
