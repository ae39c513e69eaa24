import facula as torch
from facula import nn

# Tables that are meant, of predictions without gradients and of centres that are learnt.
torch.manual_seed(0)
model, centres = nn.Linear(4, 1), nn.Parameter(torch.randn(12))
optimizer = torch.optim.SGD([*model.parameters(), centres], lr=0.01)
for _ in range(10):
    x, rank = torch.randn(12, 4), torch.randn(12)
    score = model(x).squeeze(1)
    wins = (rank[:, None] > rank).float()
    loss = (wins * nn.functional.softplus(score - score[:, None])).mean()
    loss = loss + torch.exp(-((model(x).detach() - centres) ** 2)).mean()
    loss = loss + (score.detach()[:, None] - rank).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
