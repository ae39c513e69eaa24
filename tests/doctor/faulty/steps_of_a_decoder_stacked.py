import facula as torch
from facula import nn, optim

torch.manual_seed(0)
cell, head = nn.GRUCell(4, 8), nn.Linear(8, 4)
optimizer = optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
x, y = torch.randn(6, 2, 4), torch.randint(0, 4, (6, 2))
for _ in range(2):
    hidden, outputs = torch.zeros(2, 8), []
    for step in x:
        hidden = cell(step, hidden)
        outputs.append(torch.softmax(head(hidden), dim=-1))
    output = torch.stack(outputs)
    loss = nn.functional.cross_entropy(output.view(-1, 4), y.view(-1))  # finds F101
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
