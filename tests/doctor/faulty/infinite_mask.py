import facula as torch
from facula import nn, optim

torch.manual_seed(0)
query, key = nn.Linear(4, 4), nn.Linear(4, 4)
optimizer = optim.SGD([*query.parameters(), *key.parameters()], lr=0.01)
x = torch.randn(2, 5, 4)
padded = torch.tensor([[False] * 5, [True] * 5])  # one sequence is nothing but padding
scores = query(x) @ key(x).transpose(1, 2)
scores = scores.masked_fill(padded[:, None, :], float("-inf"))
attention = scores.softmax(dim=-1)  # finds F701
loss = (attention @ x).square().mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
