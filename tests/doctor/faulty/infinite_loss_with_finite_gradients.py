import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 1), nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for _ in range(10):
    p = model(torch.randn(32, 4))
    loss = torch.log(p).mean()  # finds F701
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
