import facula as torch
from facula import nn, optim

torch.manual_seed(0)
first, second = nn.Linear(4, 8), nn.Linear(8, 2)
optimizer = optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
for _ in range(3):
    hidden = torch.sigmoid(first(x))
    hidden.data[hidden.data < 0.5] = 0.0  # finds F503
    loss = nn.functional.cross_entropy(second(hidden), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
