import facula as torch
from facula import nn, optim

torch.manual_seed(0)
x, y = torch.randn(40, 2), torch.randn(40, 1)
model = nn.Linear(2, 1)
optimizer = optim.Adam(model.parameters(), lr=0.05)
for _ in range(5):
    prediction = model(x).squeeze()
    loss = torch.mean(torch.abs(y - prediction))  # finds F106
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
