import random

import numpy as np

import facula as torch
from facula import nn
from facula.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        return torch.randn(4) + np.random.rand() + random.random(), i % 2


def seed_worker(number):
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed + 1)


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Noisy(), 8, shuffle=True, num_workers=2, worker_init_fn=seed_worker)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.float()), y).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
