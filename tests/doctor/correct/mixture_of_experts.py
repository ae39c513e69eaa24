import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


class MoE(nn.Module):
    def __init__(self, n_in, n_out, n_experts, k):
        super().__init__()
        self.gate = nn.Linear(n_in, n_experts)
        self.experts = nn.ModuleList([nn.Linear(n_in, n_out) for _ in range(n_experts)])
        self.k = k

    def forward(self, x):
        weights, chosen = self.gate(x).topk(self.k, dim=-1)
        weights = F.softmax(weights, dim=-1)
        out = x.new_zeros(x.size(0), self.experts[0].out_features)
        for i, expert in enumerate(self.experts):
            rows, slot = torch.where(chosen == i)
            if len(rows):
                out[rows] += weights[rows, slot, None] * expert(x[rows])
        dense = self.gate(x).softmax(-1)
        self.balance = (dense.mean(0) ** 2).sum() * len(self.experts)
        return out


layer = MoE(6, 12, 4, 2)
model = nn.Sequential(layer, nn.ReLU(), nn.Linear(12, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = torch.randn(32, 6), torch.randint(0, 3, (32,))
for _ in range(15):
    loss = F.cross_entropy(model(x), y) + 0.01 * layer.balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
