import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
groups = [{"params": model[0].weight}, {"params": model[0].bias, "weight_decay": 0.0}]
optimizer = optim.AdamW(groups, lr=0.01)  # finds F401
model.append(nn.Linear(8, 2))
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
for _ in range(4):
    model.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
