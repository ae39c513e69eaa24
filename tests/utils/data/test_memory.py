"""Shared blocks are reused, and forked workers do not copy the dataset again and again."""

import gc
import os

import numpy as np
import pytest
from data_tools import run_script

import facula
from facula.utils.data import DataLoader, Dataset, TensorDataset
from facula.utils.data._utils import shared_memory

pytestmark = pytest.mark.promise("D2")


def test_epochs_over_many_python_objects_do_not_grow(tmp_path):
    # A tenth of the million objects of the promise, in fewer epochs; shuffled, which touches all.
    code, out, err = run_script(
        """
        import os
        from facula.utils.data import DataLoader, Dataset

        class Objects(Dataset):
            def __init__(self, n):
                self.items = [(f"image {i}.jpg", {"label": i}) for i in range(n)]
            def __len__(self):
                return len(self.items)
            def __getitem__(self, i):
                return self.items[i][1]["label"]

        def total_memory():
            with open(f"/proc/self/task/{os.getpid()}/children") as file:
                pids = [os.getpid(), *file.read().split()]
            kbytes = 0
            for pid in pids:
                with open(f"/proc/{pid}/smaps_rollup") as file:
                    lines = [line for line in file if line.startswith("Pss:")]
                kbytes += int(lines[0].split()[1])
            return kbytes

        if __name__ == "__main__":
            loader = DataLoader(Objects(100_000), 500, shuffle=True, num_workers=2)
            totals = []
            for _ in range(5):
                for k, batch in enumerate(loader):
                    if k == len(loader) - 1:
                        totals.append(total_memory())
            print(max(totals) / totals[0])
        """,
        tmp_path,
        timeout_s=100,
    )
    assert code == 0, err
    assert float(out) < 1.1


def blocks_in_use():
    with open("/proc/self/maps") as file:
        return file.read().count("facula-loader")


def test_batches_are_views_of_shared_blocks_which_are_reused():
    data = TensorDataset(facula.arange(4000, dtype=facula.float32).view(40, 100))
    addresses = {batch[0].data_ptr() for batch in DataLoader(data, 2, num_workers=1)}
    assert len(addresses) < 8


def test_kept_batches_keep_their_values():
    x = facula.arange(100 * 50).view(100, 50)
    loader = DataLoader(TensorDataset(x), 2, num_workers=2)
    kept = [batch[0] for batch in loader]
    parts = [batch[0][:, 0] for batch in loader]
    gc.collect()
    assert facula.equal(facula.cat(kept), x)
    assert facula.equal(facula.cat(parts), x[:, 0])


def test_the_memory_goes_when_the_last_batch_goes():
    loader = DataLoader(TensorDataset(facula.rand(10, 5)), 2, num_workers=2)
    kept = next(iter(loader))
    assert blocks_in_use() == 1
    kept[0].add_(1)  # the workers are gone, the memory is not
    del kept
    gc.collect()
    assert blocks_in_use() == 0


def test_batches_that_grow_get_larger_blocks():
    class Growing(Dataset):
        def __len__(self):
            return 30

        def __getitem__(self, i):
            return facula.full((1 + (i * 7919) % 20000,), i)

    for i, batch in enumerate(DataLoader(Growing(), 1, num_workers=2)):
        assert batch.shape == (1, 1 + (i * 7919) % 20000)
        assert batch.eq(i).all()


def test_arrays_and_nested_tensors_travel_without_their_bytes():
    class Nested(Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, i):
            x = facula.full((100,), float(i))
            return {
                "array": np.full((3, 50), i),
                "readonly": np.broadcast_to(np.float32(i), (4,)),
                "empty": (np.empty(0), facula.empty(0, 3)),
                "views": (x, x[10:20], x[::2], x.view(10, 10).t(), x[:1].expand(5)),
                "scalar": facula.tensor(i),
                "parameter": facula.nn.Parameter(x[:3].clone()),
            }

    def identity(samples):
        return samples[0]

    loader = DataLoader(Nested(), 1, collate_fn=identity, num_workers=2)
    for i, sample in enumerate(loader):
        assert (sample["array"] == i).all()
        assert sample["array"].flags.writeable
        assert sample["readonly"].tolist() == [i] * 4
        assert [tuple(e.shape) for e in sample["empty"]] == [(0,), (0, 3)]
        _, part, step, transposed, expanded = sample["views"]
        assert all(v.eq(i).all() for v in sample["views"])
        assert transposed.stride() == (1, 10)
        assert expanded.stride() == (0,)
        assert (part.shape, step.shape) == ((10,), (50,))
        assert sample["scalar"].item() == i
        assert type(sample["parameter"]) is facula.nn.Parameter
        assert sample["parameter"].requires_grad


def test_a_ring_gives_blocks_back_and_falls_back_when_it_is_full():
    memory = shared_memory.Memory.create(1)
    ring = shared_memory.Ring(memory, 0, max_blocks=2)
    ring.begin_batch()
    assert ring.reserve(100) is None
    assert ring.take_larger_block(100)
    assert ring.reserve(100) is not None
    taken = [ring.take_block()]
    ring.begin_batch()  # knows by now how much is wanted
    assert ring.reserve(100) is not None
    taken.append(ring.take_block())
    ring.begin_batch()
    assert not ring.take_larger_block(100)
    ring.give_back(taken[:1])
    ring.begin_batch()
    assert ring.reserve(100) == taken[0]
    memory.close_fd()


def test_tensors_that_begin_at_one_address_arrive_whole():
    def collate(samples):
        x = facula.arange(10.0) + samples[0]
        return x[:2], x

    for i, (part, whole) in enumerate(DataLoader(range(8), num_workers=1, collate_fn=collate)):
        assert whole.tolist() == [i + k for k in range(10)]
        part.fill_(-1)
        assert whole[:3].tolist() == [-1, -1, i + 2]


class Numbers(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, i):
        return facula.full((1000,), i)


def test_a_fork_keeps_the_batches_that_the_caller_had():
    iterator = iter(DataLoader(Numbers(), num_workers=1))
    batch = next(iterator)
    (to_child, go), (result, from_child) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(to_child, 1)
        os.write(from_child, str(batch[0, 0].item()).encode())
        os._exit(0)
    del batch
    for batch in iterator:
        del batch
    os.write(go, b".")
    os.waitpid(pid, 0)
    assert os.read(result, 10) == b"0"
    for descriptor in (to_child, go, result, from_child):
        os.close(descriptor)


def test_epochs_that_are_left_give_their_blocks_back(monkeypatch):
    loader = DataLoader(Numbers(), num_workers=2, persistent_workers=True)
    for _ in range(20):
        for batch in loader:
            if batch[0, 0] == 2:
                break
    starts = []

    def load(message, *args, load=shared_memory.load):
        starts.append(shared_memory.block_of(message))
        return load(message, *args)

    monkeypatch.setattr(shared_memory, "load", load)
    assert sum(1 for _ in loader) == 20
    assert all(starts)


def test_messages_without_blocks_are_aligned(monkeypatch):
    monkeypatch.setattr(shared_memory.Memory, "create", lambda n_workers: None)
    data = TensorDataset(facula.zeros(4, 100_000), facula.zeros(4, dtype=facula.uint8))
    for large, small in DataLoader(data, 2, num_workers=1):
        assert large.data_ptr() % 16 == 0
        assert small.sum() == 0
