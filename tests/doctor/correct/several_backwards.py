import facula as torch
from facula import nn

torch.manual_seed(0)
shared, a, b = nn.Linear(6, 16), nn.Linear(16, 2), nn.Linear(16, 1)
params = [*shared.parameters(), *a.parameters(), *b.parameters()]
optimizer = torch.optim.SGD(params, lr=0.05)
x, y1, y2 = torch.randn(20, 6), torch.randint(0, 2, (20,)), torch.randn(20)
for _ in range(12):
    optimizer.zero_grad()
    h = torch.tanh(shared(x))
    loss1 = nn.functional.cross_entropy(a(h), y1)
    loss2 = nn.functional.smooth_l1_loss(b(h).squeeze(-1), y2)
    loss1.backward(retain_graph=True)
    loss2.backward()
    optimizer.step()
