import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = optim.SGD(model.parameters(), lr=0.1)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(4):
    scheduler.step()  # finds F405
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
