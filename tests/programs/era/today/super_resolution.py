"""As the program of this name, in the form of today."""

from math import log10

import torch
import torch.nn as nn
import torch.nn.init as init
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(123)


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 8, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(8, 8, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv3(x))

    def _initialize_weights(self):
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight)


large = torch.rand(16, 1, 1, 1).expand(16, 1, 12, 12) + torch.randn(16, 1, 12, 12) * 0.02
small = nn.functional.avg_pool2d((large), 2).data
training_data_loader = DataLoader(TensorDataset(small, large), batch_size=4)
model, criterion = Net(2), nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.01)
for epoch in range(1, 4):
    epoch_loss = 0
    for iteration, batch in enumerate(training_data_loader, 1):
        input, target = (batch[0]), (batch[1])
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        epoch_loss += loss.item()
        loss.backward()
        optimizer.step()
    print(f"===> Epoch {epoch} Avg. Loss: {epoch_loss / len(training_data_loader):.4f}")
avg_psnr = 0
for batch in training_data_loader:
    input, target = (batch[0]), (batch[1])
    mse = criterion(model(input), target)
    psnr = 10 * log10(1 / mse.item())
    avg_psnr += psnr
print(f"===> Avg. PSNR: {avg_psnr / len(training_data_loader):.2f} dB")
