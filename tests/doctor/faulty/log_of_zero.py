import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
optimizer = optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
for _ in range(3):
    scores = model(x)
    p = scores / (scores.sum(1, keepdim=True) + 1e-3)
    log_p = torch.log(p)  # finds F701
    loss = -log_p[torch.arange(16), y].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
