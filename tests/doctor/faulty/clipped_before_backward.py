import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # finds F304
    loss.backward()
    optimizer.step()
