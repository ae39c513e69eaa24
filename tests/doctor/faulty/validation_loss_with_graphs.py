import facula as torch
from facula import nn
from facula.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
held_out = TensorDataset(torch.randn(160, 10), torch.randint(0, 2, (160,)))
for _ in range(2):
    model.train()
    for _ in range(10):
        x, y = torch.randn(16, 10), torch.randint(0, 2, (16,))
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    total = 0
    for x, y in DataLoader(held_out, 16):
        total += nn.functional.cross_entropy(model(x), y)  # finds F501
    print(total / 10)
