import facula as torch
from facula import nn, optim
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(120, 3), torch.randn(120, 1)), 2, shuffle=True)
model = nn.Linear(3, 1)
optimizer = optim.Adam(model.parameters(), lr=0.01)
scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.8)
for inputs, targets in loader:
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()  # finds F406
