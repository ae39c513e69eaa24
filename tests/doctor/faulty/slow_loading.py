import time

import facula as torch
from facula import nn, optim
from facula.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Slow(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        time.sleep(0.01)  # as a large image from a slow disk
        return torch.randn(4), i % 2


model = nn.Linear(4, 2)
optimizer = optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Slow(), batch_size=1, shuffle=True):  # finds F805
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
