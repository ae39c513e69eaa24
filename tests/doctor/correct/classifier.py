import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 3)
)
optimizer = optim.AdamW(model.parameters(), lr=0.01)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2)
x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))
for _ in range(4):
    model.train()
    total = 0.0
    for batch, target in zip(x.split(16), y.split(16), strict=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(x).argmax(1) == y).float().mean().item()
torch.save(model.state_dict(), "model.pt")
model.load_state_dict(torch.load("model.pt"))
