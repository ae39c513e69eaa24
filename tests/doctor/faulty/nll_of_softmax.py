import facula as torch
from facula import nn, optim
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,)))
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3), nn.Softmax(dim=-1))
criterion = nn.NLLLoss()
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for x, y in DataLoader(data, batch_size=16, shuffle=True):
    optimizer.zero_grad()
    loss = criterion(model(x), y)  # finds F102
    loss.backward()
    optimizer.step()
