import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(4):
    optimizer.zero_grad()
    predicted = model(x).argmax(dim=1)
    wrong = (predicted != y).float().mean()
    loss = torch.tensor(wrong.item(), requires_grad=True)
    loss.backward()  # finds F305
    optimizer.step()
