import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, width, n_heads):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.n_heads = n_heads

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = (h.view(b, t, self.n_heads, -1).transpose(1, 2) for h in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / (c // self.n_heads) ** 0.5
        scores = scores.masked_fill(mask == 0, float("-inf"))
        p = F.softmax(scores, dim=-1)
        return self.out((F.dropout(p, 0.1, self.training) @ v).transpose(1, 2).reshape(b, t, c))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 16)
        self.attend = nn.ModuleList([Attention(16, 2) for _ in range(2)])
        self.norms = nn.ModuleList([nn.LayerNorm(16) for _ in range(2)])
        self.pool, self.head = nn.Linear(16, 1), nn.Linear(16, 3)

    def forward(self, tokens):
        x = self.embed(tokens)
        mask = (tokens != 0)[:, None, None, :]
        for attend, norm in zip(self.attend, self.norms, strict=True):
            x = x + attend(norm(x), mask)
        weights = self.pool(x).squeeze(-1).masked_fill(tokens == 0, -torch.inf).softmax(-1)
        return self.head((weights.unsqueeze(-1) * x).sum(1))


model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
tokens, y = torch.randint(1, 12, (16, 7)), torch.randint(0, 3, (16,))
tokens[:, 5:] *= torch.randint(0, 2, (16, 2))
for _ in range(12):
    optimizer.zero_grad()
    F.cross_entropy(model(tokens), y).backward()
    optimizer.step()
