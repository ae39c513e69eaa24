import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)
keys, values = nn.Linear(4, 8), nn.Linear(4, 8)
optimizer = optim.Adam([*keys.parameters(), *values.parameters()], lr=0.01)
x, y = torch.randn(2, 5, 4), torch.randint(0, 8, (10,))
teacher = torch.randn(10, 8).softmax(dim=1)
for _ in range(5):
    scores = keys(x) @ keys(x).transpose(1, 2)
    matches = scores.softmax(dim=1) * scores.softmax(dim=2)
    log_p = F.log_softmax((matches @ values(x)).view(-1, 8), dim=1)
    prior = torch.full_like(log_p, 1 / 8).log()
    loss = F.nll_loss(log_p, y) + F.kl_div(log_p, teacher, reduction="batchmean")
    loss = loss + F.kl_div(prior, log_p, reduction="batchmean", log_target=True)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
