import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = optim.SGD(model.parameters(), lr=0.1)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.1)
x, y = torch.randn(100, 4), torch.randint(0, 3, (100,))
for _ in range(2):
    for batch, target in zip(x.split(5), y.split(5), strict=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch), target).backward()
        optimizer.step()
        scheduler.step()  # finds F406
