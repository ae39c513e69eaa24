import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)
        self.scale = torch.ones(1, requires_grad=True)  # finds F602

    def forward(self, x):
        return self.linear(x) * self.scale


model = Scaled()
optimizer = optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
