import io

import facula as torch
from facula import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
buffer = io.BytesIO()
torch.save(model, buffer)
buffer.seek(0)
copy = torch.load(buffer, weights_only=False)
optimizer = torch.optim.SGD(copy.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
for _ in range(10):
    optimizer.zero_grad()
    nn.functional.cross_entropy(copy(x), y).backward()
    optimizer.step()
