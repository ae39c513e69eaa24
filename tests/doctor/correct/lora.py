import math

import facula as torch
from facula import nn

torch.manual_seed(0)


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling


base = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
torch.save(base.state_dict(), "base.pt")
base.load_state_dict(torch.load("base.pt"))
for p in base.parameters():
    p.requires_grad_(False)
for i in (0, 2):
    base[i] = LoRALinear(base[i])
optimizer = torch.optim.AdamW([p for p in base.parameters() if p.requires_grad], lr=1e-2)
x, y = torch.randn(32, 8), torch.randint(0, 4, (32,))
for _ in range(12):
    loss = nn.functional.cross_entropy(base(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save({k: v for k, v in base.state_dict().items() if "lora_" in k}, "lora.pt")
missing = base.load_state_dict(torch.load("lora.pt"), strict=False)
