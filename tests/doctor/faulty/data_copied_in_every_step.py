import facula as torch
from facula import nn, optim

torch.manual_seed(0)
device = torch.device("meta")  # stands for a GPU
model = nn.Linear(64, 1, device=device)
optimizer = optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(512, 64), torch.randn(512, 1, device=device)
for _ in range(30):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x.to(device)), y)  # finds F806
    loss.backward()
    optimizer.step()
