import facula as torch
from facula import nn
from facula.nn import functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
scale = nn.Linear(6, 1)
optimizer = torch.optim.Adam([*net.parameters(), *scale.parameters()], lr=1e-3)
centres = torch.randn(5, 4)


def batch_hard_triplet(embeddings, labels, margin=0.3):
    difference = embeddings.unsqueeze(0) - embeddings.unsqueeze(1)
    distances = difference.pow(2).sum(-1).clamp(min=1e-12).sqrt()
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    hardest_positive = (distances * same).max(1).values
    hardest_negative = distances.masked_fill(same, float("inf")).min(1).values
    return F.relu(hardest_positive - hardest_negative + margin).mean()


for _ in range(12):
    x, y = torch.randn(20, 6), torch.arange(20) % 5
    z = net(x)
    to_centres = (z[:, None, :] - centres[None]).pow(2).sum(-1)
    s = scale(x)
    ranking = F.softplus(s - s.t()).mean()  # every pair of scores
    bandwidth = torch.exp(-(torch.cdist(z, z) ** 2)).mean()
    loss = batch_hard_triplet(z, y) + F.cross_entropy(-to_centres, y) + 0.1 * ranking + bandwidth
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
