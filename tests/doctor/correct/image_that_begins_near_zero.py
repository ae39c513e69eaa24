import facula as torch
from facula import nn

torch.manual_seed(0)
network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
network.requires_grad_(False)
target = network(255 * torch.rand(1, 3, 16, 16))
image = (0.01 * torch.randn(1, 3, 16, 16)).requires_grad_()
optimizer = torch.optim.Adam([image], lr=10)
for _ in range(15):
    optimizer.zero_grad()
    nn.functional.mse_loss(network(image), target).backward()
    optimizer.step()
    with torch.no_grad():
        image.clamp_(0, 255)
