import facula as torch
from facula import nn, optim
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(48, 3), torch.randn(48, 1))
model = nn.Linear(3, 1)
optimizer = optim.Adam(model.parameters(), lr=0.01)
for _ in range(2):
    total = 0
    for inputs, targets in DataLoader(data, batch_size=8, shuffle=True):
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = total + loss * len(inputs)  # finds F501
