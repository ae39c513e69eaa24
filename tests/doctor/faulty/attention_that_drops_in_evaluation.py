import facula as torch
import facula.nn.functional as F
from facula import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, 2)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1)  # finds F203
        return self.out(y.mean(1))


model = Attention(8)
optimizer = torch.optim.Adam(model.parameters())
for _ in range(2):
    model.train()
    for _ in range(4):
        x, y = torch.randn(4, 5, 8), torch.randint(0, 2, (4,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        model(torch.randn(4, 5, 8))
