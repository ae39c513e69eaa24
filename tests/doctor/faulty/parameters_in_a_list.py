import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 2)
        self.factors = [nn.Parameter(torch.ones(2)) for _ in range(3)]  # finds F602

    def forward(self, x):
        return sum(self.linear(x) * factor for factor in self.factors)


model = Mixture()
optimizer = optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
