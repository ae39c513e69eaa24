import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.classify = nn.Linear(32, 3)
        self.regress = nn.Linear(32, 1)
        self.tag = nn.Linear(32, 5)
        self.log_sigma = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        h = self.trunk(x)
        return {"class": self.classify(h), "value": self.regress(h), "tags": self.tag(h)}


model = MultiTask()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(32, 8)
y_class, y_value = torch.randint(0, 3, (32,)), torch.randn(32, 1)
y_tags = (torch.rand(32, 5) > 0.5).float()
history = []
for _ in range(20):
    out = model(x)
    losses = torch.stack(
        [
            F.cross_entropy(out["class"], y_class),
            F.mse_loss(out["value"], y_value),
            F.binary_cross_entropy_with_logits(out["tags"], y_tags),
        ]
    )
    loss = (losses * torch.exp(-model.log_sigma) + model.log_sigma).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(losses.detach())
print(torch.stack(history).mean(0))
