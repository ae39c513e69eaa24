"""``utils.data``: the same programs say the same in both, to the order of the samples."""

from __future__ import annotations

import collections
import faulthandler
import inspect
import os
import random
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch as pytorch
import torch.utils.data

from .frameworks import facula
from .transcript import Log, assert_same_transcript

Point = collections.namedtuple("Point", "x y")


class Record(dict):
    pass


class Row(list):
    pass


@pytest.fixture(autouse=True)
def _no_test_hangs() -> Iterator[None]:
    faulthandler.dump_traceback_later(300, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def data_of(torch: Any) -> Any:
    return import_module(f"{torch.__name__}.utils.data")


def position(torch: Any, generator: Any = None) -> int:
    """Where the generator is: two that drew the same numbers agree."""
    return hash((generator or torch.default_generator).get_state().numpy().tobytes())


class Failing:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def __len__(self) -> int:
        return 6

    def __getitem__(self, i: int) -> int:
        if i == 3:
            raise self.error
        return i


def datasets(torch: Any, log: Log) -> None:
    data = data_of(torch)
    x, y = torch.arange(12).view(6, 2), torch.arange(6)
    tensors = data.TensorDataset(x, y)
    log(len(tensors), tensors[2], tensors[-1], tensors[1:3], lambda: tensors[6])
    log(lambda: data.TensorDataset(x, y[:3]), lambda: len(data.TensorDataset()))
    stacks = [data.StackDataset(x, y), data.StackDataset(a=x, b=tensors)]
    for stack in stacks:
        log(len(stack), stack[1], stack.__getitems__([0, 2]), lambda s=stack: s[7])
    for args, kwargs in [((), {}), ((x, y[:2]), {}), ((x,), {"a": y}), ((), {"a": x, "b": y[:1]})]:
        log(lambda args=args, kwargs=kwargs: data.StackDataset(*args, **kwargs))
    both = data.ConcatDataset(["abc", [1, 2]])
    log(len(both), [both[i] for i in range(-5, 5)], both.cumulative_sizes)
    log(lambda: both[5], lambda: both[-6], lambda: data.ConcatDataset([]))
    subset = data.Subset(tensors, [4, 1])
    log(len(subset), subset[0], subset[[0, 1]], subset.__getitems__([1]), lambda: subset[2])
    log(lambda: data.Dataset()[0], lambda: len(data.Dataset()), (tensors + tensors)[8])

    class Count(data.IterableDataset):
        def __iter__(self) -> Any:
            return iter(range(3))

    chain = Count() + Count()
    log(list(chain), type(chain).__name__, lambda: len(chain))
    log(lambda: data.ConcatDataset([Count()]), lambda: list(data.ChainDataset([[1]])))
    log(lambda: next(iter(data.IterableDataset())))


def random_splits(torch: Any, log: Log) -> None:
    data = data_of(torch)
    for lengths in [[7, 3], [10, 0], [0.5, 0.5], [0.33, 0.33, 0.34], [0.99, 0.01], [1 / 3] * 3]:
        log([list(part.indices) for part in data.random_split(range(10), lengths)])
        generator = torch.Generator().manual_seed(4)
        log([list(part) for part in data.random_split(range(10), lengths, generator)])
        log(position(torch), position(torch, generator))
    for lengths in [[3, 3], [0.5, 0.6], [1.5, -0.5], [], [5.0, 5.0], [11]]:
        log(lambda lengths=lengths: [list(p) for p in data.random_split(range(10), lengths)])


def samplers(torch: Any, log: Log) -> None:
    data = data_of(torch)
    for generator in [None, torch.Generator().manual_seed(7)]:
        for make in [
            lambda g: data.SequentialSampler(range(5)),
            lambda g: data.RandomSampler(range(10), generator=g),
            lambda g: data.RandomSampler(range(10), num_samples=25, generator=g),
            lambda g: data.RandomSampler(range(10), num_samples=20, generator=g),
            lambda g: data.RandomSampler(range(10), num_samples=3, generator=g),
            lambda g: data.RandomSampler(range(10), True, generator=g),
            lambda g: data.RandomSampler(range(10), True, 64, generator=g),
            lambda g: data.RandomSampler(range(10), True, 77, generator=g),
            lambda g: data.SubsetRandomSampler([3, 1, 4, 1, 5], g),
            lambda g: data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.0], 9, generator=g),
            lambda g: data.WeightedRandomSampler([0.1, 0.9, 0.4, 3.0], 4, False, generator=g),
            lambda g: data.BatchSampler(data.RandomSampler(range(10), generator=g), 4, False),
            lambda g: data.BatchSampler(data.RandomSampler(range(10), generator=g), 4, True),
        ]:
            sampler = make(generator)
            log(len(sampler), list(sampler), list(sampler), position(torch))
            log(position(torch, generator))
    for n, replicas, shuffle, drop_last in [
        (10, 3, True, False),
        (10, 3, True, True),
        (10, 3, False, False),
        (2, 5, True, False),
        (2, 5, True, True),
        (9, 3, True, True),
    ]:
        for rank in range(replicas):
            sampler = data.DistributedSampler(range(n), replicas, rank, shuffle, 3, drop_last)
            log(len(sampler), list(sampler))
            sampler.set_epoch(5)
            log(list(sampler), sampler.num_samples, sampler.total_size)
    for refused in [
        lambda: data.RandomSampler([]),
        lambda: data.RandomSampler([1], replacement=3),
        lambda: data.RandomSampler([1], num_samples=0),
        lambda: data.RandomSampler([1], num_samples=1.5),
        lambda: data.WeightedRandomSampler([1.0], 0),
        lambda: data.WeightedRandomSampler([1.0], True),
        lambda: data.WeightedRandomSampler([1.0], 1, 1),
        lambda: data.WeightedRandomSampler([[1.0]], 1),
        lambda: list(data.WeightedRandomSampler([1.0], 2, False)),
        lambda: data.BatchSampler([1], 0, False),
        lambda: data.BatchSampler([1], True, False),
        lambda: data.BatchSampler([1], 1, 3),
        lambda: iter(data.Sampler()),
        lambda: len(data.Sampler()),
        lambda: data.DistributedSampler([1]),
        lambda: data.DistributedSampler([1], 2, 2),
        lambda: data.DistributedSampler([1], 2, -1),
    ]:
        log(refused)


def orders(torch: Any, log: Log) -> None:
    data = data_of(torch)
    for kwargs in [
        {},
        {"batch_size": 3},
        {"batch_size": 3, "drop_last": True},
        {"batch_size": None},
        {"batch_size": 4, "shuffle": True},
        {"batch_size": None, "shuffle": True},
        {"batch_size": 4, "shuffle": True, "generator": torch.Generator().manual_seed(9)},
        {"batch_size": 2, "sampler": [5, 3, 3, 0]},
        {"batch_sampler": [[1], [2, 3, 4], [0]]},
        {"batch_size": 4, "shuffle": True, "num_workers": 2},
        {"batch_size": 4, "shuffle": True, "num_workers": 1, "persistent_workers": True},
        {"batch_size": 4, "shuffle": True, "num_workers": 2, "prefetch_factor": 1},
    ]:
        loader = data.DataLoader(range(11), **kwargs)
        log(len(loader), loader.batch_size, loader.drop_last, loader.num_workers)
        log(type(loader.sampler).__name__, type(loader.batch_sampler).__name__)
        for _ in range(3):
            iterator = iter(loader)
            first = next(iterator)
            log(first, list(iterator), position(torch), lambda it=iterator: next(it))
        log(position(torch, loader.generator))


def iterables(torch: Any, log: Log) -> None:
    data = data_of(torch)

    class Shares(data.IterableDataset):
        def __init__(self, n: int) -> None:
            self.n = n

        def __iter__(self) -> Any:
            info = data.get_worker_info()
            first, step = (info.id, info.num_workers) if info else (0, 1)
            return iter(range(first, self.n, step))

    class Uneven(Shares):
        def __iter__(self) -> Any:
            info = data.get_worker_info()
            return iter(range(info.id * 100, info.id * 100 + (2, 9, 5)[info.id]))

    for kwargs in [
        {},
        {"batch_size": 3},
        {"batch_size": 3, "drop_last": True},
        {"batch_size": None},
        {"batch_size": 2, "num_workers": 1},
        {"batch_size": 2, "num_workers": 3},
        {"batch_size": None, "num_workers": 2},
        {"batch_size": 2, "num_workers": 2, "drop_last": True, "persistent_workers": True},
    ]:
        loader = data.DataLoader(Shares(11), **kwargs)
        log(list(loader), list(loader), lambda loader=loader: len(loader), position(torch))
    log(list(data.DataLoader(Uneven(0), 2, num_workers=3, prefetch_factor=1)))


def collating(torch: Any, log: Log) -> None:
    data = data_of(torch)
    counter = collections.Counter(a=1)
    x = torch.ones(2, requires_grad=True)
    for batch in [
        [1, 2],
        [1.5, 2],
        [1, 2.5],
        [True, False],
        [2**70, 1],
        ["a", "b"],
        [b"a", b"b"],
        [1j, 2j],
        [None],
        [{1, 2}],
        [],
        [[], []],
        [{}, {}],
        [(), ()],
        ((1, 2), (3, 4)),
        [(1, "a"), (2, "b")],
        [[1], [2]],
        [[1, 2], [3]],
        [Point(1, 2), Point(3, 4)],
        [Row([1, 2]), Row([3, 4])],
        [Record(a=1), Record(a=2)],
        [{"a": 1}, {"b": 2}],
        [{"a": 1}, {"a": 2, "b": 3}],
        [range(2), range(2)],
        [collections.deque([1]), collections.deque([2])],
        [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
        [collections.defaultdict(int, a=1)] * 2,
        [counter, counter],
        [bytearray(b"ab"), bytearray(b"cd")],
        [(1, [2, {"a": torch.ones(1)}])] * 2,
        [torch.ones(2), torch.zeros(2)],
        [torch.ones(2), torch.ones(3)],
        [torch.ones(2), torch.ones(2).int()],
        [torch.ones(2).to(torch.bfloat16)] * 2,
        [torch.ones(()), torch.zeros(())],
        [torch.ones(0), torch.zeros(0)],
        [x, x],
        [torch.nn.Parameter(torch.ones(2))] * 2,
        [torch.ones(2), 3],
        [1, "a"],
        ["a", 1],
        [np.float32(1), np.float32(2)],
        [np.float64(1), np.float64(2)],
        [np.int8(1), np.int8(2)],
        [np.bool_(1), np.bool_(0)],
        [np.array(1), np.array(2)],
        [np.ones((2, 2), np.float16)] * 2,
        [np.ones(2), np.ones(3)],
        [np.array([1, 2], dtype=np.complex64)] * 2,
        [np.array(["a"]), np.array(["b"])],
        [np.array([None])],
        [np.str_("a"), np.str_("b")],
        [np.datetime64("2020")],
        [np.matrix([[1]])] * 2,
    ]:

        def described(function: Any, batch: Any = batch) -> Any:
            result = function(batch)
            return type(result).__name__, result, str(getattr(result, "dtype", ""))

        log(lambda: described(data.default_collate))
        log(lambda: described(data.default_convert))
    utils = import_module(f"{torch.__name__}.utils.data._utils.collate")
    functions = {int: lambda ints, *, collate_fn_map: sum(ints), str: lambda s, **_: len(s)}
    log(utils.collate([(1, "a"), (2, "b")], collate_fn_map=functions))
    log(lambda: utils.collate([1.5], collate_fn_map=functions))
    log({torch.Tensor, float, int, str, bytes} <= set(utils.default_collate_fn_map))


def refusals(torch: Any, log: Log) -> None:
    data = data_of(torch)

    class Count(data.IterableDataset):
        def __iter__(self) -> Any:
            return iter(range(3))

    samples = list(range(10))
    for kwargs in [
        {"batch_size": 0},
        {"batch_size": -1},
        {"batch_size": 2.5},
        {"batch_size": True},
        {"batch_size": "a"},
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"prefetch_factor": -2, "num_workers": 1},
        {"persistent_workers": True},
        {"sampler": [1], "shuffle": True},
        {"sampler": [1], "shuffle": False},
        {"batch_sampler": [[1]], "batch_size": 2},
        {"batch_sampler": [[1]], "shuffle": True},
        {"batch_sampler": [[1]], "sampler": [1]},
        {"batch_sampler": [[1]], "drop_last": True},
        {"batch_size": None, "drop_last": True},
        {"multiprocessing_context": "fork"},
        {"multiprocessing_context": "x", "num_workers": 1},
        {"multiprocessing_context": 3, "num_workers": 1},
        {"timeout": 1},
    ]:
        log(lambda kwargs=kwargs: str(len(list(data.DataLoader(samples, **kwargs)))))
    for kwargs in [
        {"shuffle": True},
        {"shuffle": False},
        {"sampler": [1]},
        {"batch_sampler": [[1]]},
    ]:
        log(lambda kwargs=kwargs: str(len(list(data.DataLoader(Count(), **kwargs)))))
    log(lambda: len(data.DataLoader([])), lambda: data.DataLoader([], shuffle=True))
    for name in ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "num_workers"]:
        log(lambda name=name: setattr(data.DataLoader(samples), name, 3))
    for num_workers in [0, 1]:
        for make in [
            lambda w: data.DataLoader(samples, sampler=[1, 20], num_workers=w),
            lambda w: data.DataLoader([torch.ones(2), torch.ones(3)], 2, num_workers=w),
            lambda w: data.DataLoader([None], num_workers=w),
            lambda w: data.DataLoader([{"a": 1}, {"b": 1}], 2, num_workers=w),
            lambda w: data.DataLoader(5, sampler=[0], num_workers=w),
            *(
                lambda w, e=error: data.DataLoader(Failing(e), 2, num_workers=w)
                for error in [
                    ValueError("x"),
                    KeyError("x"),
                    FileNotFoundError(2, "No such file", "x"),
                    ZeroDivisionError(),
                ]
            ),
        ]:
            log(lambda make=make, w=num_workers: list(make(w)))
    log(
        lambda: list(
            data.DataLoader(Failing(UnicodeDecodeError("u", b"", 0, 1, "x")), num_workers=1)
        )
    )


def workers(torch: Any, log: Log) -> None:
    data = data_of(torch)

    class Who(data.Dataset):
        def __len__(self) -> int:
            return 7

        def __getitem__(self, i: int) -> Any:
            info = data.get_worker_info()
            return None if info is None else (info.id, info.num_workers, info.seed % 1000)

    def plain(samples: Any) -> Any:
        return list(samples)

    def init(worker: int) -> None:
        assert torch.initial_seed() == data.get_worker_info().seed

    log(data.get_worker_info())
    for num_workers in [0, 1, 3]:
        loader = data.DataLoader(
            Who(), 2, num_workers=num_workers, collate_fn=plain, worker_init_fn=init
        )
        log(list(loader), list(loader))

    def bad_init(worker: int) -> None:
        raise OSError("x")

    log(lambda: list(data.DataLoader(Who(), num_workers=1, worker_init_fn=bad_init)))

    class Die(Who):
        def __getitem__(self, i: int) -> Any:
            os._exit(1)

    log(lambda: list(data.DataLoader(Die(), num_workers=1)))

    class Slow(Who):
        def __getitem__(self, i: int) -> Any:
            import time

            time.sleep(3)

    log(lambda: list(data.DataLoader(Slow(), num_workers=1, timeout=0.2)))


@pytest.mark.promise("D1")
@pytest.mark.parametrize("program", [datasets, random_splits, samplers, collating])
def test_datasets_samplers_and_batches_are_the_same(program: Any) -> None:
    random.seed(0)
    assert_same_transcript(program)


@pytest.mark.promise("D2")
@pytest.mark.parametrize("program", [orders, iterables, refusals, workers])
def test_loaders_say_the_same(program: Any) -> None:
    assert_same_transcript(program)


# Pipes of iterators were deprecated before they were finished; PyTorch tells users to leave them.
PIPES = {
    "DFIterDataPipe",
    "DataChunk",
    "IterDataPipe",
    "MapDataPipe",
    "argument_validation",
    "functional_datapipe",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "runtime_validation",
    "runtime_validation_disabled",
}


@pytest.mark.promise("D1", "D2")
def test_names_and_arguments_are_those_of_pytorch() -> None:
    ours, theirs = data_of(facula), pytorch.utils.data
    names = {name for name in theirs.__all__ if not name.startswith("_")} - PIPES
    assert names <= set(ours.__all__)
    for name in names - {"Dataset", "IterableDataset", "Sampler"}:
        expected = inspect.signature(getattr(theirs, name)).parameters
        actual = inspect.signature(getattr(ours, name)).parameters
        assert list(actual)[: len(expected)] == list(expected), name
        defaults = {n: p.default for n, p in expected.items() if n != "generator"}
        assert {n: actual[n].default for n in defaults} == defaults, name
    assert list(inspect.signature(ours.DataLoader).parameters)[-1] == "worker_type"
