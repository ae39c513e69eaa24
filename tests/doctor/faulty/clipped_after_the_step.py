import facula as torch
from facula import nn, optim

torch.manual_seed(0)
rnn, head = nn.RNN(3, 8, batch_first=True), nn.Linear(8, 1)
parameters = [*rnn.parameters(), *head.parameters()]
optimizer = optim.SGD(parameters, lr=0.01)
x, y = torch.randn(8, 5, 3), torch.randn(8, 1)
for _ in range(3):
    optimizer.zero_grad()
    output, _ = rnn(x)
    loss = nn.functional.mse_loss(head(output[:, -1]), y)
    loss.backward()
    optimizer.step()
    nn.utils.clip_grad_norm_(filter(lambda p: p.requires_grad, parameters), 0.25)  # finds F304
