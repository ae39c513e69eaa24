import facula as torch
import facula.nn.functional as F
from facula import nn, optim

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 1), nn.Softmax2d())
optimizer = optim.Adam(net.parameters())
images, labels = torch.rand(4, 1, 8, 8), torch.randint(0, 4, (4, 8, 8))
for _ in range(3):
    optimizer.zero_grad()
    F.cross_entropy(net(images), labels).backward()  # finds F101
    optimizer.step()
