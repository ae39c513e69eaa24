import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=None):
        super().__init__()
        self.gamma, self.alpha = gamma, alpha

    def forward(self, input, target):
        logpt = F.log_softmax(input, dim=1).gather(1, target.view(-1, 1)).view(-1)
        pt = logpt.detach().exp()
        if self.alpha is not None:
            logpt = logpt * self.alpha.gather(0, target)
        return (-1 * (1 - pt) ** self.gamma * logpt).mean()


def dice_loss(logits, target, smooth=1.0):
    p = torch.sigmoid(logits).view(-1)
    t = target.view(-1)
    return 1 - (2 * (p * t).sum() + smooth) / (p.sum() + t.sum() + smooth)


def sigmoid_focal(logits, target):
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    p = torch.sigmoid(logits)
    p_t = p * target + (1 - p) * (1 - target)
    return (ce * (1 - p_t) ** 2).mean()


model = nn.Sequential(nn.Linear(5, 16), nn.ELU(), nn.Linear(16, 3))
criterion = FocalLoss(alpha=torch.tensor([0.2, 0.3, 0.5]))
optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
x, y = torch.randn(30, 5), torch.randint(0, 3, (30,))
for _ in range(12):
    out = model(x)
    z, t = out[:, 0], (y == 0).float()
    loss = criterion(out, y) + dice_loss(z, t) + sigmoid_focal(z, t)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
