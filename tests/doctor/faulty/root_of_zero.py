import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(3, 3)
nn.init.eye_(model.weight)
nn.init.zeros_(model.bias)
optimizer = optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(8, 3)
for _ in range(2):
    optimizer.zero_grad()
    loss = torch.sqrt(((model(x) - x) ** 2).sum())  # finds F701
    loss.backward()
    optimizer.step()
