import numpy as np

import facula as torch
from facula.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.tensor(i + self.rng.normal())


if __name__ == "__main__":
    for _batch in DataLoader(Noisy(), batch_size=2, num_workers=2):  # finds F802
        pass
