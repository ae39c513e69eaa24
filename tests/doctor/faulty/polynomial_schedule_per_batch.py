import facula as torch
from facula import nn

torch.manual_seed(0)
n_epochs = 10
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=n_epochs)
for _ in range(n_epochs):
    for _ in range(6):
        x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step()  # finds F406
