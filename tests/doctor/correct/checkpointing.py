import facula as torch
from facula import nn
from facula.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 12))

    def forward(self, x):
        return x + checkpoint(self.net, x, use_reentrant=False)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Block() for _ in range(4)])
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        x = checkpoint_sequential(self.blocks, 2, x, use_reentrant=False)
        return self.head(x)


model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = torch.randn(16, 12), torch.randint(0, 3, (16,))
for _ in range(6):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
