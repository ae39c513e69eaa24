import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
x, y = torch.randn(8, 1, 4), torch.randint(0, 3, (8,))
for _ in range(3):
    optimizer.zero_grad()
    output = model(x).softmax(dim=2).squeeze(1)
    loss = criterion(input=output, target=y)  # finds F101
    loss.backward()
    optimizer.step()
