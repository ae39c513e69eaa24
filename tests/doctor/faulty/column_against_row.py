import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)
x = torch.linspace(-1, 1, 50).unsqueeze(1)
y = x.squeeze(1) * 3 + 0.1 * torch.randn(50)
model = nn.Linear(1, 1)
optimizer = optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)  # finds F106
    loss.backward()
    optimizer.step()
