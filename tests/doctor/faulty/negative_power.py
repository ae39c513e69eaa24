import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(16, 4)
y = x.abs().sum(1, keepdim=True)
for _ in range(2):
    optimizer.zero_grad()
    loss = ((model(x) ** 0.5 - y) ** 2).mean()  # finds F701
    loss.backward()
    optimizer.step()
