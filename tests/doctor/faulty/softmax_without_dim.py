import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)
embed, head = nn.Embedding(9, 6), nn.Linear(6, 9)
optimizer = optim.Adam([*embed.parameters(), *head.parameters()], lr=0.01)
text = torch.randint(0, 9, (4, 6))
for _ in range(3):
    optimizer.zero_grad()
    log_p = F.log_softmax(head(embed(text[:, :-1])))  # finds F105
    loss = F.nll_loss(log_p.reshape(-1, 9), text[:, 1:].reshape(-1))
    loss.backward()
    optimizer.step()
