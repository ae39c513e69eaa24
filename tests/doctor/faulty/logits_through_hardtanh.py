import facula as torch
from facula import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 1), nn.Hardtanh(1e-6, 1 - 1e-6))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
criterion = nn.BCELoss()
for _ in range(6):
    x = torch.randn(32, 4)
    target = (x[:, 0] > 0).float()
    optimizer.zero_grad()
    loss = criterion(net(x).squeeze(1), target)  # finds F109
    loss.backward()
    optimizer.step()
