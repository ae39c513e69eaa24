import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


def create_model(ema=False):
    model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Dropout(0.3), nn.Linear(24, 3))
    if ema:
        for param in model.parameters():
            param.detach_()
    return model


model, ema_model = create_model(), create_model(ema=True)
optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, nesterov=True)
labelled, y, unlabelled = torch.randn(12, 6), torch.randint(0, 3, (12,)), torch.randn(24, 6)
for step in range(15):
    model.train()
    ema_model.train()
    x = torch.cat([labelled, unlabelled])
    ema_out = ema_model(x + 0.1 * torch.randn_like(x)).detach()
    out = model(x + 0.1 * torch.randn_like(x))
    class_loss = F.cross_entropy(out[:12], y)
    consistency = F.mse_loss(F.softmax(out, dim=1), F.softmax(ema_out, dim=1))
    loss = class_loss + 0.5 * consistency
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    alpha = min(1 - 1 / (step + 1), 0.99)
    for ema_param, param in zip(ema_model.parameters(), model.parameters(), strict=True):
        ema_param.data.mul_(alpha).add_(param.data, alpha=1 - alpha)
