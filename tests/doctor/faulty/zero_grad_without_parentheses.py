import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(16, 4), torch.randn(16, 1)
for _ in range(5):
    optimizer.zero_grad  # noqa: B018
    nn.functional.mse_loss(model(x), y).backward()  # finds F301
    optimizer.step()
