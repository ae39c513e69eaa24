import facula as torch
from facula import nn, optim

torch.manual_seed(0)
layers = [nn.Linear(4, 8), nn.Sigmoid()]
for _ in range(14):
    layers += [nn.Linear(8, 8), nn.Sigmoid()]
model = nn.Sequential(*layers, nn.Linear(8, 3))
optimizer = optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(40):
    optimizer.zero_grad()
    output = model(x)  # finds F703
    nn.functional.cross_entropy(output, y).backward()
    optimizer.step()
