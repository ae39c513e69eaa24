import facula as torch
from facula import nn

torch.manual_seed(0)
autoencoder = nn.Sequential(
    nn.Conv2d(1, 4, 3, stride=2, padding=1),
    nn.ReLU(),
    nn.ConvTranspose2d(4, 1, 4, stride=2, padding=1),
    nn.Sigmoid(),
)
optimizer = torch.optim.Adam(autoencoder.parameters(), lr=1e-2, weight_decay=1e-5)
criterion = nn.MSELoss()
images = torch.rand(32, 1, 8, 8)
for _ in range(5):
    for clean in images.split(8):
        noisy = (clean + 0.2 * torch.randn_like(clean)).clamp(0, 1)
        loss = criterion(autoencoder(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
