import copy

import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = optim.SGD(copy.deepcopy(model).parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))


def closure():
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    return loss


for _ in range(4):
    closure()
    optimizer.step()  # finds F303
