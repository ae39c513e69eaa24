import facula as torch
from facula import nn

torch.manual_seed(0)


class SoftTree(nn.Module):
    """Each leaf's class distribution, mixed by the softmax of a gate: logarithm into NLLLoss."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(5, 4)
        self.leaves = nn.Parameter(torch.randn(4, 3))

    def forward(self, x):
        mixture = self.gate(x).softmax(dim=1) @ self.leaves.softmax(dim=1)
        return torch.log(mixture + 1e-9)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.logits = nn.Linear(5, 3), nn.Linear(5, 3)

    def forward(self, x):
        return self.gate(x).softmax(dim=1) * self.logits(x)


x, y = torch.randn(24, 5), torch.randint(0, 3, (24,))
for model, criterion in ((SoftTree(), nn.NLLLoss()), (Gated(), nn.CrossEntropyLoss())):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(12):
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
