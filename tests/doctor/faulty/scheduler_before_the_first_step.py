import facula as torch
from facula import nn, optim
from facula.optim.lr_scheduler import OneCycleLR

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = optim.AdamW(model.parameters(), lr=0.01)
scheduler = OneCycleLR(optimizer, max_lr=0.1, total_steps=20)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for batch, target in zip(x.split(4), y.split(4), strict=True):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(batch), target)
    loss.backward()
    scheduler.step()  # finds F405
    optimizer.step()
