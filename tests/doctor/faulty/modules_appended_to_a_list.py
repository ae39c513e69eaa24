import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class Blocks(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.blocks = []  # finds F601
        for _ in range(n):
            self.blocks.append(nn.Sequential(nn.Linear(8, 8), nn.ReLU()))

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return x.mean(1, keepdim=True)


model = nn.Sequential(Blocks(2), nn.Linear(1, 1))
optimizer = optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
