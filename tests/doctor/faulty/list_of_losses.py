import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(64, 4), torch.randn(64, 1)
losses = []
for batch, target in zip(x.split(8), y.split(8), strict=True):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(batch), target)
    loss.backward()
    optimizer.step()
    losses.append(loss)
mean = torch.stack(losses).mean()  # finds F501
