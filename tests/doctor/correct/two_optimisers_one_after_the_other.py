import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
x = torch.rand(32, 2)
y = x.sum(1, keepdim=True).sin()
adam = optim.Adam(model.parameters(), lr=0.01)
for _ in range(10):
    adam.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    adam.step()
lbfgs = optim.LBFGS(model.parameters(), max_iter=5)


def closure():
    lbfgs.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for _ in range(3):
    lbfgs.step(closure)
