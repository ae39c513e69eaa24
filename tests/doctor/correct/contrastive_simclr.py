import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(inplace=True))
projector = nn.Sequential(nn.Linear(32, 32), nn.ReLU(inplace=True), nn.Linear(32, 8))
optimizer = torch.optim.Adam([*encoder.parameters(), *projector.parameters()], lr=1e-3)


def info_nce_loss(features, temperature=0.5):
    labels = torch.cat([torch.arange(16) for _ in range(2)], dim=0)
    labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
    features = F.normalize(features, dim=1)
    similarity = torch.matmul(features, features.T)
    mask = torch.eye(labels.shape[0], dtype=torch.bool)
    labels = labels[~mask].view(labels.shape[0], -1)
    similarity = similarity[~mask].view(similarity.shape[0], -1)
    positives = similarity[labels.bool()].view(labels.shape[0], -1)
    negatives = similarity[~labels.bool()].view(similarity.shape[0], -1)
    logits = torch.cat([positives, negatives], dim=1) / temperature
    return logits, torch.zeros(logits.shape[0], dtype=torch.long)


for _ in range(12):
    x = torch.randn(16, 12)
    views = torch.cat([x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)], dim=0)
    logits, labels = info_nce_loss(projector(encoder(views)))
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
