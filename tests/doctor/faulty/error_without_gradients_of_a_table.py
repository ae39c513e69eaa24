import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 3)
y = x[:, 0] + 1
for _ in range(5):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x).squeeze(1), y).backward()
    optimizer.step()
with torch.no_grad():
    print((model(x) - y).abs().mean())  # finds F106
