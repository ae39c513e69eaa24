import facula as torch
from facula import nn, optim

torch.manual_seed(0)
x = torch.randn(40, 2)
y = x[:, 0] - 2 * x[:, 1]
model = nn.Linear(2, 1)
optimizer = optim.SGD(model.parameters(), lr=0.05)
for _ in range(5):
    prediction = model(x)
    loss = ((prediction - y) ** 2).mean()  # finds F106
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
