import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 8))

    def forward(self, a, b):
        return self.body(a), self.body(b)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, label):
        d = F.pairwise_distance(a, b, keepdim=True)
        near = (1 - label) * torch.pow(d, 2)
        far = label * torch.pow(torch.clamp(self.margin - d, min=0.0), 2)
        return torch.mean(near + far)


net, criterion = Siamese(), ContrastiveLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-4)
a, b, label = torch.rand(16, 1, 8, 8), torch.rand(16, 1, 8, 8), torch.randint(0, 2, (16, 1)).float()
for _ in range(10):
    optimizer.zero_grad()
    loss = criterion(*net(a, b), label)
    loss.backward()
    optimizer.step()
