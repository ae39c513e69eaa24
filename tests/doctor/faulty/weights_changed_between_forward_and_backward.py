import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    for layer in (model[0], model[2]):
        layer.weight.data.clamp_(-0.1, 0.1)  # finds F503
    loss.backward()
    optimizer.step()
