import facula as torch
from facula import nn, optim
from facula.nn.utils import clip_grad_value_

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = optim.RMSprop(model.parameters(), lr=0.001)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.smooth_l1_loss(model(x), y).backward()
    optimizer.step()
    clip_grad_value_(model.parameters(), 0.5)  # finds F304
