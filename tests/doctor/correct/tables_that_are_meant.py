import facula as torch
from facula import nn, optim

torch.manual_seed(0)
encoder = nn.Linear(4, 8)
scorer = nn.Linear(4, 1)
optimizer = optim.Adam([*encoder.parameters(), *scorer.parameters()], lr=0.01)
x, labels, relevance = torch.randn(16, 4), torch.randint(0, 3, (16,)), torch.rand(16)
for _ in range(5):
    z = nn.functional.normalize(encoder(x), dim=1)
    same = (labels[:, None] == labels).float() - torch.eye(16)
    log_p = (z @ z.T - 100 * torch.eye(16)).log_softmax(dim=1)
    contrastive = -(same * log_p).sum(1).mean()
    score = scorer(x).squeeze(1)
    is_better = relevance.unsqueeze(1) > relevance
    ranking = (1 - (score.unsqueeze(1) - score))[is_better].clamp(min=0).mean()
    optimizer.zero_grad()
    (contrastive + ranking).backward()
    optimizer.step()
