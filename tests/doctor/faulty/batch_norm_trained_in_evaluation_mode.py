import facula as torch
from facula import nn, optim

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2)
)
optimizer = optim.Adam(net.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
images, labels = torch.rand(16, 1, 8, 8), torch.randint(0, 2, (16,))
net.train()
for _ in range(3):
    for batch, label in zip(images.split(8), labels.split(8), strict=True):
        optimizer.zero_grad()
        loss = criterion(net(batch), label)  # finds F202
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        valid_loss = criterion(net(images), labels)
