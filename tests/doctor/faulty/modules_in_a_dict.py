import facula as torch
from facula import nn, optim

torch.manual_seed(0)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 8)
        self.heads = {"age": nn.Linear(8, 1), "size": nn.Linear(8, 1)}  # finds F601

    def forward(self, x):
        h = torch.relu(self.trunk(x))
        return {name: head(h) for name, head in self.heads.items()}


model = MultiTask()
optimizer = optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for _ in range(3):
    optimizer.zero_grad()
    out = model(x)
    (nn.functional.mse_loss(out["age"], y) + out["size"].pow(2).mean()).backward()
    optimizer.step()
