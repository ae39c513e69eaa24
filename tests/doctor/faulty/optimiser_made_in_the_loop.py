import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 2)
x, y = torch.randn(64, 4), torch.randint(0, 2, (64,))
for batch, target in zip(x.split(8), y.split(8), strict=True):
    optimizer = optim.Adam(model.parameters(), lr=0.01)  # finds F409
    loss = nn.functional.cross_entropy(model(batch), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
