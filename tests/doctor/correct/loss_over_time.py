import facula as torch
from facula import nn

torch.manual_seed(0)
embed, cell, decoder = nn.Embedding(12, 10), nn.GRUCell(10, 16), nn.Linear(16, 12)
params = [p for m in (embed, cell, decoder) for p in m.parameters()]
optimizer = torch.optim.Adam(params, lr=5e-3)
criterion = nn.CrossEntropyLoss()
text = torch.randint(0, 12, (200,))


def random_chunk(n=12):
    start = int(torch.randint(0, 200 - n, ()))
    return text[start : start + n]


losses = []
for _ in range(15):
    chunk = random_chunk()
    hidden = torch.zeros(1, 16)
    optimizer.zero_grad()
    loss = 0
    for c in range(len(chunk) - 1):
        hidden = cell(embed(chunk[c]).view(1, -1), hidden)
        loss += criterion(decoder(hidden), chunk[c + 1].view(1))
    loss.backward()
    optimizer.step()
    losses.append(loss.item() / len(chunk))
