import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=5)
# So large a scale overflows in the first iterations: those steps are skipped, the scale halved.
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=4)
x, y = torch.randn(16, 4), torch.randn(16, 1)
for _ in range(12):
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    if scale <= scaler.get_scale():
        scheduler.step()
