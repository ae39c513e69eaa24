import copy

import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)
X, Y = torch.randn(60, 6), torch.randn(60, 1)
best, patience, best_state = float("inf"), 0, None
for epoch in range(20):
    model.train()
    train_loss = 0.0
    for xb, yb in zip(X[:40].split(10), Y[:40].split(10), strict=True):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        val_loss = nn.functional.mse_loss(model(X[40:]), Y[40:])
    scheduler.step(val_loss)
    if val_loss < best:
        best, patience = val_loss.item(), 0
        best_state = copy.deepcopy(model.state_dict())
        torch.save(
            {"epoch": epoch, "model": best_state, "optimizer": optimizer.state_dict()}, "best.pt"
        )
    else:
        patience += 1
        if patience >= 3:
            break
checkpoint = torch.load("best.pt", weights_only=True)
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
