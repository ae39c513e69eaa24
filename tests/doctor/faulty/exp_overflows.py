import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = optim.SGD(model.parameters(), lr=0.001)
x, y = torch.randn(16, 4) * 1000, torch.randint(0, 3, (16,))


def softmax(scores):
    e = torch.exp(scores)  # finds F701
    return e / e.sum(dim=1, keepdim=True)


p = softmax(model(x))
loss = -torch.log(p[range(16), y]).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
