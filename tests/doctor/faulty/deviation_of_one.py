import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Normalise(nn.Module):
    def forward(self, x):
        return (x - x.mean(0)) / (x.std(0) + 1e-5)  # finds F701


model = nn.Sequential(nn.Linear(4, 8), Normalise(), nn.Linear(8, 1))
optimizer = optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(17, 4), torch.randn(17, 1)
for batch, target in zip(x.split(8), y.split(8), strict=True):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(batch), target)
    loss.backward()
    optimizer.step()
