import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
x = torch.randn(40, 3)
y = x.sum(1, keepdim=True)
for _ in range(2):
    optimizer.zero_grad()
    for batch, target in zip(x.split(10), y.split(10), strict=True):
        loss = nn.functional.mse_loss(model(batch), target)
        loss.backward()  # finds F301
        optimizer.step()
