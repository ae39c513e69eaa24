import facula as torch
from facula import nn

torch.manual_seed(0)
encoder = nn.Linear(6, 4)
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)
x, y = torch.randn(40, 6), torch.randint(0, 4, (40,))
support, query = (x[:20], y[:20]), (x[20:], y[20:])
for _ in range(15):
    prototypes = torch.stack([encoder(support[0][support[1] == c]).mean(0) for c in range(4)])
    logits = -torch.cdist(encoder(query[0]), prototypes)
    loss = nn.functional.cross_entropy(logits, query[1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    nearest = torch.cdist(encoder(query[0]), encoder(support[0])).topk(3, largest=False).indices
    votes = support[1][nearest]
    hits = (votes == query[1].unsqueeze(1)).any(1).float().mean()
    same = query[1][:, None] == support[1]
    confusion = torch.zeros(4, 4).index_put_((query[1], votes[:, 0]), torch.ones(20), True)
    accuracy = confusion.diagonal().sum() / confusion.sum()
