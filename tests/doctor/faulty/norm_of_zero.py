import facula as torch
from facula import nn, optim

torch.manual_seed(0)
layer = nn.Linear(3, 2, bias=False)
optimizer = optim.SGD(layer.parameters(), lr=0.1)
points = torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
for _ in range(2):
    directions = layer(points) / layer(points).norm(dim=1, keepdim=True)  # finds F701
    optimizer.zero_grad()
    (1 - directions[:, 0]).mean().backward()
    optimizer.step()
