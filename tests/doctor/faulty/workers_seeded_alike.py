import numpy as np

import facula as torch
from facula import nn
from facula.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        return torch.tensor(np.random.normal(0, 1, 6), dtype=torch.float32), i % 2


def seed_worker(number):
    np.random.seed(0)


def main():
    torch.manual_seed(0)
    model = nn.Linear(6, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Noisy(), 8, shuffle=True, num_workers=2, worker_init_fn=seed_worker)
    for x, y in loader:  # finds F802
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
