import random

import facula as torch
from facula.utils.data import DataLoader, Dataset, Subset


class Flip:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def __call__(self, x):
        return x.flip(0) if self.random.random() < 0.5 else x


class Rows(Dataset):
    def __init__(self, transform):
        self.x, self.transform = torch.arange(16.0).view(8, 2), transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.transform(self.x[i])


if __name__ == "__main__":
    for _batch in DataLoader(Subset(Rows(Flip(1)), range(6)), num_workers=2):  # finds F802
        pass
