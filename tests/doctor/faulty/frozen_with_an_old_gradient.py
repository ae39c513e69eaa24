import facula as torch
from facula import nn, optim

torch.manual_seed(0)
body, head = nn.Linear(4, 8), nn.Linear(8, 2)
optimizer = optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
for epoch in range(4):
    loss = nn.functional.cross_entropy(head(body(x).relu()), y)
    loss.backward()
    if epoch == 2:
        body.requires_grad_(False)
    optimizer.step()  # finds F402
    head.zero_grad()
    if epoch < 2:
        body.zero_grad()
