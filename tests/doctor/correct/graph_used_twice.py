import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = optim.SGD(model.parameters(), lr=0.01)
x = torch.rand(32, 2, requires_grad=True)
for _ in range(10):
    optimizer.zero_grad()
    u = model(x)
    u.square().mean().backward(retain_graph=True)
    (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (slope.sum(1) - 1).square().mean().backward()
    optimizer.step()
    x.grad = None
