import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(*[nn.Linear(32, 32) for _ in range(10)], nn.Linear(32, 1))
for layer in model:
    nn.init.normal_(layer.weight)
optimizer = optim.SGD(model.parameters(), lr=1e-20)
x, y = torch.randn(16, 32), torch.randn(16, 1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()  # finds F704
