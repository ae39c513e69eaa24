import facula as torch
from facula import nn, optim
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(200, 4), torch.arange(200) // 20  # as they lie in folders, class after class
model = nn.Linear(4, 10)
optimizer = optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
for batch, target in DataLoader(TensorDataset(x, y), batch_size=10):
    optimizer.zero_grad()
    loss = criterion(model(batch), target)  # finds F801
    loss.backward()
    optimizer.step()
