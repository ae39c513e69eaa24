import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
optimizer = optim.Adam(model.parameters(), lr=0.01)
loss_fn = nn.NLLLoss(reduction="sum")
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
for _ in range(3):
    model.zero_grad()
    loss_fn(input=model(x), target=y).backward()  # finds F102
    optimizer.step()
