import facula as torch
from facula import nn, optim

torch.manual_seed(0)
images = torch.randint(0, 256, (16, 3, 8, 8), dtype=torch.uint8)
labels = torch.randint(0, 2, (16,))
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
optimizer = optim.SGD(net.parameters(), lr=1e-4)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(images.float()), labels)  # finds F804
    loss.backward()
    optimizer.step()
