import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
for epoch in range(6):
    if epoch == 3:
        for parameter in model[0].parameters():
            parameter.requires_grad = False
    optimizer.zero_grad(set_to_none=False)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()  # finds F402
