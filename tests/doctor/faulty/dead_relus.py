import facula as torch
from facula import nn, optim

torch.manual_seed(0)
hidden, out = nn.Linear(4, 32), nn.Linear(32, 2)
nn.init.constant_(hidden.bias, -20.0)
optimizer = optim.SGD([*hidden.parameters(), *out.parameters()], lr=0.1)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
for _ in range(70):
    optimizer.zero_grad()
    features = torch.relu(hidden(x))  # finds F702
    nn.functional.cross_entropy(out(features), y).backward()
    optimizer.step()
