import facula as torch
from facula import nn, optim

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = optim.Adam(model.parameters(), lr=0.01)
criterion = nn.L1Loss()
x, y = torch.randn(32, 4), torch.randn(32, 1)
for _ in range(5):
    output = model(x)
    loss = criterion(output, y)
    loss.backward()
    model.zero_grad(set_to_none=False)  # finds F302
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
