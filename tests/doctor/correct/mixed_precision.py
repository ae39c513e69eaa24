import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", enabled=True)
x, y = torch.randn(32, 8), torch.randn(32, 4)
for _ in range(8):
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        output = model(x)
        loss = nn.functional.mse_loss(output, y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()
