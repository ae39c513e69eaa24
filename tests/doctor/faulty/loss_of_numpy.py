import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for _ in range(4):
    optimizer.zero_grad()
    output = torch.from_numpy(model(x).detach().numpy()).requires_grad_()
    loss = nn.functional.mse_loss(output, y)
    loss.backward()
    optimizer.step()  # finds F303
