import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 4)
y = (x[:, 0] > 0).float()
for _ in range(3):
    optimizer.zero_grad()
    output = model(x)
    loss = nn.functional.binary_cross_entropy_with_logits(output, y.unsqueeze(1))
    loss.backward()
    optimizer.step()
    predicted = torch.round(torch.sigmoid(output.detach()))
    accuracy = (predicted == y).float().mean()  # finds F111
