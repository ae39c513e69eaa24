import facula as torch
from facula import nn, optim

torch.manual_seed(0)
embed, rnn, head = nn.Embedding(20, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 20)
parameters = [*embed.parameters(), *rnn.parameters(), *head.parameters()]
optimizer = optim.Adam(parameters, lr=0.01)
criterion = nn.CrossEntropyLoss()
text = torch.randint(0, 20, (6, 11))
for _ in range(3):
    hidden, _ = rnn(embed(text[:, :-1]))
    p = torch.softmax(head(hidden), dim=-1)
    loss = criterion(p.view(-1, 20), text[:, 1:].reshape(-1))  # finds F101
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
