import facula as torch
from facula import nn, optim

torch.manual_seed(0)


def build():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


model = build()
optimizer = optim.Adam(model.parameters(), lr=0.01)
model = build()  # with other random weights
x, y = torch.randn(32, 4), torch.randn(32, 1)
for _ in range(4):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()  # finds F303
