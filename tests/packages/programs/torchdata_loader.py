"""torchdata: loaders that stop and go on, with and without workers, and nodes of a pipeline."""

import torch
import torchdata.nodes as nodes
from torch.utils.data import Dataset, IterableDataset, SequentialSampler, get_worker_info
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler


class Numbers(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        if index > 19:
            raise IndexError(index)
        return {"x": torch.full((2,), float(index)), "y": index}


class Stream(IterableDataset):
    """A share of the numbers for each worker, and where it is."""

    def __init__(self, n):
        self.n = n
        self.start = 0

    def __iter__(self):
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        for number in range(max(self.start, 0), self.n):
            if number % step == first:
                self.start = number + 1
                yield number
        self.start = 0

    def state_dict(self):
        return {"start": self.start}

    def load_state_dict(self, state_dict):
        self.start = state_dict["start"]


class Broken(Numbers):
    def __getitem__(self, index):
        raise KeyError(index)


def go_on(make):
    """Three batches, the rest, and the rest again from the state after the third."""
    loader = make()
    batches = iter(loader)
    first = [next(batches) for _ in range(3)]
    state = loader.state_dict()
    rest = list(batches)
    other = make()
    other.load_state_dict(state)
    return first, rest, list(other)


for n_workers in (0, 2):
    for persistent in (False, True) if n_workers else (False,):

        def make(n_workers=n_workers, persistent=persistent):
            torch.manual_seed(0)
            return StatefulDataLoader(
                Numbers(),
                batch_size=4,
                shuffle=True,
                num_workers=n_workers,
                persistent_workers=persistent,
            )

        first, rest, again = go_on(make)
        print(n_workers, [batch["y"].tolist() for batch in first + rest])
        print([batch["x"].sum().item() for batch in again])
        loader = make()
        print([[batch["y"].tolist() for batch in loader] for epoch in range(2)])

    first, rest, again = go_on(
        lambda n_workers=n_workers: StatefulDataLoader(
            Stream(12), batch_size=2, num_workers=n_workers
        )
    )
    print([batch.tolist() for batch in first + rest], [batch.tolist() for batch in again])

try:
    list(StatefulDataLoader(Broken(), num_workers=1))
except KeyError as error:
    print("KeyError", "in DataLoader worker process 0" in str(error))

sampler = StatefulDistributedSampler(Numbers(), num_replicas=2, rank=1, shuffle=True, seed=3)
loader = StatefulDataLoader(Numbers(), batch_size=5, sampler=sampler)
print([batch["y"].tolist() for batch in loader], len(loader))

node = nodes.SamplerWrapper(SequentialSampler(range(12)))
node = nodes.ParallelMapper(node, map_fn=lambda i: i * 2, num_workers=2, method="thread")
node = nodes.Prefetcher(nodes.Mapper(nodes.Batcher(node, 4), torch.tensor), 2)
pipeline = nodes.Loader(node)
batches = iter(pipeline)
print(next(batches).tolist())
state = pipeline.state_dict()
print([batch.tolist() for batch in batches])
pipeline.load_state_dict(state)
print([batch.tolist() for batch in pipeline])
