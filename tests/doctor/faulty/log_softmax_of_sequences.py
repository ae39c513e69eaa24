import facula as torch
from facula import nn, optim

torch.manual_seed(0)
rnn, head = nn.LSTM(5, 8, batch_first=True), nn.Linear(8, 4)
log_softmax = nn.LogSoftmax(dim=0)
criterion = nn.NLLLoss()
optimizer = optim.Adam([*rnn.parameters(), *head.parameters()], lr=0.01)
x, y = torch.randn(3, 7, 5), torch.randint(0, 4, (3, 7))
for _ in range(3):
    optimizer.zero_grad()
    scores = log_softmax(head(rnn(x)[0]))  # finds F105
    loss = criterion(scores.reshape(-1, 4), y.reshape(-1))
    loss.backward()
    optimizer.step()
