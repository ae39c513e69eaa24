import facula as torch
from facula import nn

torch.manual_seed(0)


class Atari(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 4, 3, stride=2), nn.ReLU(), nn.Flatten())
        self.head = nn.Linear(36, 3)

    def forward(self, frames):
        return self.head(self.conv(frames / 255.0))


class Normalised(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 4, 3), nn.Linear(4, 2)
        self.register_buffer("mean", torch.tensor([123.7, 116.3, 103.5]).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor([58.4, 57.1, 57.4]).view(1, 3, 1, 1))

    def forward(self, x):
        x = (x - self.mean) / self.std
        return self.fc(torch.relu(self.conv(x)).mean((2, 3)))


for model, shape, n in ((Atari(), (16, 1, 8, 8), 3), (Normalised(), (16, 3, 8, 8), 2)):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images = torch.randint(0, 256, shape).float()
    labels = torch.randint(0, n, (16,))
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
