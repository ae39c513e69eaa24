import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Linear(10, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
history = []
for _ in range(40):
    x = torch.randn(16, 10)
    loss = (model(x) - x[:, :1]).pow(2).mean()  # finds F501
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss)
print(sum(loss.item() for loss in history) / len(history))
