import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(4):
    optimizer.zero_grad()
    output = model(x).detach()
    loss = criterion(output, y)
    loss.requires_grad = True  # since backward raised an error without it
    loss.backward()  # finds F305
    optimizer.step()
