"""The loader's arguments, its order and its random numbers."""

import multiprocessing
import random
import threading
import warnings

import numpy as np
import pytest
from data_tools import Drawing, Shares, plain, run_script

import facula
from facula.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
    get_worker_info,
)
from facula.utils.data._utils import random_streams
from facula.utils.data.dataloader import _DatasetKind

pytestmark = pytest.mark.promise("D2")

WAYS = [
    {},
    {"num_workers": 1},
    {"num_workers": 4},
    {"num_workers": 16},
    {"num_workers": 3, "worker_type": "thread"},
    {"num_workers": 2, "prefetch_factor": 5},
    {"num_workers": 2, "multiprocessing_context": "forkserver"},
]
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(map(str, way.values())))


def seed_all(seed):
    facula.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def two_epochs(data, **kwargs):
    seed_all(5)
    np.random.randn()  # half of a pair is left for the caller
    loader = DataLoader(data, 4, shuffle=True, **kwargs)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*draws from Python's or NumPy's random stream")
        epochs = [plain(list(loader)) for _ in range(2)]
    return epochs, [facula.rand(1).item(), random.random(), np.random.randn(), np.random.rand()]


@each_way
def test_batches_are_the_same_for_any_workers_and_so_are_the_callers_numbers(way):
    data = Drawing(30)
    expected, numbers_after = two_epochs(data)
    assert len(expected[0]) == 8
    assert expected[0] != expected[1]
    batches, after = two_epochs(data, **way)
    assert batches == expected
    assert after == numbers_after


def test_streams_whose_memory_is_unknown_are_seeded_by_their_own_functions(monkeypatch):
    slow = random_streams._SlowStream
    monkeypatch.setattr(
        random_streams, "_python", slow(random.getstate, random.setstate, random.seed)
    )
    numpy = slow(np.random.get_state, np.random.set_state, np.random.seed)
    monkeypatch.setattr(random_streams, "_numpy", numpy)
    monkeypatch.setattr(random_streams, "_numpy_generator", np.random.get_bit_generator())
    expected = two_epochs(Drawing(30))
    assert len({str(batch["python"]) for epoch in expected[0] for batch in epoch}) == 16
    assert two_epochs(Drawing(30), num_workers=2) == expected
    assert two_epochs(Drawing(30), num_workers=2, worker_type="thread") == expected


def test_another_generator_of_numpy_is_started_too(another_generator):
    expected = two_epochs(Drawing(30))
    assert two_epochs(Drawing(30), num_workers=2) == expected
    assert len({str(batch["numpy"]) for epoch in expected[0] for batch in epoch}) == 16


class Nested(Dataset):
    """Samples for each of which a loader of its own is asked, before and after other draws."""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        before = random.gauss(0, 1), np.random.randn()
        inner = plain(list(DataLoader(Drawing(3), 2)))
        return {
            "before": before,
            "inner": str(inner),
            "after": (random.gauss(0, 1), random.random()),
        }


def test_a_loader_within_a_dataset_leaves_its_streams_alone():
    expected = two_epochs(Nested())
    assert two_epochs(Nested(), num_workers=2) == expected
    assert len({str(batch["after"]) for epoch in expected[0] for batch in epoch}) == 4

    seed_all(3)
    sample = Nested()[0]
    seed_all(3)
    without = random.gauss(0, 1), np.random.randn(), random.gauss(0, 1), random.random()
    assert (*sample["before"], *sample["after"]) == without


def test_workers_start_while_another_thread_draws_from_numpy():
    is_over = threading.Event()

    def draw():
        while not is_over.is_set():
            np.random.random(200_000)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        for num_workers in (0, 2, 2, 2):
            assert len(list(DataLoader(Drawing(8), 4, num_workers=num_workers))) == 2
    finally:
        is_over.set()
        thread.join()


def test_threads_fetch_at_once_where_only_facula_draws():
    data = Drawing(30, uses_global_streams=False)
    expected, after = two_epochs(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert two_epochs(data, num_workers=3, worker_type="thread") == (expected, after)


def test_threads_repeat_a_batch_during_which_somebody_drew():
    class Sometimes(Dataset):
        def __len__(self):
            return 12

        def __getitem__(self, i):
            return i, (random.random() if i > 5 else 0.0)

    with pytest.warns(UserWarning, match="draws from Python's or NumPy's random stream"):
        batches = plain(list(DataLoader(Sometimes(), 2, num_workers=2, worker_type="thread")))
    facula.manual_seed(0)
    expected = plain(list(DataLoader(Sometimes(), 2)))
    facula.manual_seed(0)
    with pytest.warns(UserWarning, match="one batch at a time is fetched"):
        batches = plain(list(DataLoader(Sometimes(), 2, num_workers=2, worker_type="thread")))
    assert batches == expected


@pytest.mark.parametrize("draw", [np.random.randn, lambda: random.gauss(0, 1)], ids=["np", "py"])
def test_threads_see_the_second_number_of_a_pair_being_taken(draw):
    class Sometimes(Dataset):
        def __len__(self):
            return 12

        def __getitem__(self, i):
            return draw() if i == 6 else 0.0

    def batches(**kwargs):
        seed_all(0)
        draw()  # half of a pair is left for the caller
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*draws from Python's or NumPy's random stream")
            return plain(list(DataLoader(Sometimes(), 2, **kwargs)))

    assert batches(num_workers=2, worker_type="thread") == batches()


def test_the_samples_of_a_batch_and_two_epochs_have_other_numbers():
    epochs, _ = two_epochs(Drawing(30))
    numbers = [tuple(x) for epoch in epochs for batch in epoch for x in batch["x"]]
    assert len(set(numbers)) == len(numbers) == 60


def test_order_is_that_of_pytorch():
    # torch 2.13: manual_seed(0); DataLoader(range(10), 2, shuffle=True), two epochs
    facula.manual_seed(0)
    loader = DataLoader(range(10), 2, shuffle=True)
    assert plain(list(loader)) == [[6, 7], [1, 4], [2, 0], [9, 8], [3, 5]]
    assert plain(list(loader)) == [[2, 4], [7, 0], [8, 9], [5, 3], [6, 1]]


@each_way
def test_iterable_datasets_are_shared_by_the_workers(way):
    loader = DataLoader(Shares(23), 2, **way)
    batches = plain(list(loader))
    assert sorted(i for batch in batches for i in batch[0]) == list(range(23))
    facula.manual_seed(1)
    first = plain(list(DataLoader(Shares(23), 2, **way)))
    facula.manual_seed(1)
    assert plain(list(DataLoader(Shares(23), 2, **way))) == first


@pytest.mark.parametrize("num_workers", [0, 2])
def test_samples_without_batches(num_workers):
    arrays = [np.arange(3), np.arange(2)]
    batches = list(DataLoader(arrays, batch_size=None, num_workers=num_workers))
    assert plain(batches) == [[0, 1, 2], [0, 1]]
    assert plain(list(DataLoader(Shares(2), None, num_workers=num_workers)))[0][0] == 0


@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_by_a_batch_sampler_and_drop_last(num_workers):
    batches = [[3, 1], [2], [0, 0, 0]]
    loader = DataLoader(range(4), batch_sampler=batches, num_workers=num_workers)
    assert plain(list(loader)) == batches
    assert len(loader) == 3
    assert plain(list(DataLoader(range(5), 2, drop_last=True, num_workers=num_workers))) == [
        [0, 1],
        [2, 3],
    ]
    shares = DataLoader(Shares(5), 2, drop_last=True, num_workers=num_workers)
    assert all(len(batch[0]) == 2 for batch in shares)


@pytest.mark.parametrize("worker_type", ["process", "thread"])
def test_persistent_workers_serve_all_epochs(worker_type):
    kwargs = {"num_workers": 2, "worker_type": worker_type, "persistent_workers": True}
    data = TensorDataset(facula.arange(20))
    loader = DataLoader(data, 3, shuffle=True, **kwargs)
    iterator = iter(loader)
    next(iterator)  # the rest of the epoch is given up
    seen = [sorted(i for (batch,) in loader for i in batch.tolist()) for _ in range(3)]
    assert seen == [list(range(20))] * 3
    assert iter(loader) is iterator


def test_the_base_seed_is_drawn_when_pytorch_draws_it():
    # Draws per epoch: the seed of the loader and that of the sampler; persistent workers keep it.
    def state_after(n_draws):
        facula.manual_seed(0)
        for _ in range(n_draws):
            facula.empty((), dtype=facula.int64).random_()
        return facula.get_rng_state().tolist()

    for kwargs, n_draws in [
        ({}, 4),
        ({"num_workers": 1}, 4),
        ({"num_workers": 1, "persistent_workers": True}, 3),
    ]:
        facula.manual_seed(0)
        loader = DataLoader(range(4), 2, shuffle=True, **kwargs)
        for _ in range(2):
            list(loader)
        assert facula.get_rng_state().tolist() == state_after(n_draws)


def test_a_generator_gives_the_order_alone():
    def order(seed):
        generator = facula.Generator().manual_seed(seed)
        loader = DataLoader(range(20), 5, shuffle=True, generator=generator)
        return plain(list(loader))

    before = facula.get_rng_state().tolist()
    assert order(1) == order(1) != order(2)
    assert facula.get_rng_state().tolist() == before


@pytest.mark.parametrize("worker_type", ["process", "thread"])
def test_workers_know_who_they_are(worker_type):
    class Who(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            info = get_worker_info()
            return info.id, info.num_workers, info.dataset is self

    def init(worker):
        info = get_worker_info()
        assert (info.id, info.seed) == (worker, facula.initial_seed())

    loader = DataLoader(Who(), None, num_workers=2, worker_init_fn=init, worker_type=worker_type)
    assert plain(list(loader)) == [[0, 2, True], [1, 2, True], [0, 2, True], [1, 2, True]]
    assert get_worker_info() is None


def test_batches_out_of_order_are_all_there():
    batches = plain(list(DataLoader(range(20), 2, num_workers=3, in_order=False)))
    assert sorted(batches) == [[i, i + 1] for i in range(0, 20, 2)]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_getitems_is_asked_for_whole_batches(num_workers):
    class Columns(Dataset):
        def __len__(self):
            return 6

        def __getitems__(self, indices):
            return [i * 10 for i in indices]

    assert plain(list(DataLoader(Columns(), 4, num_workers=num_workers))) == [
        [0, 10, 20, 30],
        [40, 50],
    ]


def test_a_collate_function_of_the_user():
    kept = []

    def keep(samples):
        kept.append(facula.stack(samples))
        return {"batch": kept[-1], "n": len(kept)}

    data = [facula.full((50,), float(i)) for i in range(8)]
    for num_workers in (0, 1):
        batches = list(DataLoader(data, 2, collate_fn=keep, num_workers=num_workers))
        assert [b["batch"][:, 0].tolist() for b in batches] == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_the_length_is_that_of_the_batches():
    assert len(DataLoader(range(10), 3)) == 4
    assert len(DataLoader(range(10), 3, drop_last=True)) == 3
    assert len(DataLoader(range(10), None)) == 10
    assert len(iter(DataLoader(range(10), 3))) == 4
    with pytest.raises(TypeError, match="has no len"):
        len(DataLoader(Shares(3), 2))


@pytest.mark.parametrize("num_workers", [0, 1])
def test_an_iterable_that_is_longer_than_it_says_is_reported(num_workers):
    class Liar(IterableDataset):
        def __iter__(self):
            return iter(range(5))

        def __len__(self):
            return 2

    loader = DataLoader(Liar(), 2, num_workers=num_workers)
    assert len(loader) == 1
    with pytest.warns(UserWarning, match=r"has a len\(\) of 2, and gives more samples") as caught:
        list(loader)
    assert caught[0].filename == __file__


def test_batches_go_to_a_device():
    loader = DataLoader([{"x": 1}, {"x": 2}], 2)
    assert loader.to("cpu") is loader
    assert next(iter(loader))["x"].device == facula.device("cpu")


def test_pin_memory_without_a_gpu_says_that_it_does_nothing():
    if facula.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.warns(UserWarning, match="pin_memory=True does nothing, since there is no GPU"):
        assert plain(list(DataLoader(range(2), 2, pin_memory=True))) == [[0, 1]]


def test_arguments_cannot_be_changed_later():
    loader = DataLoader(range(3))
    with pytest.raises(ValueError, match="DataLoader: batch_size cannot be changed"):
        loader.batch_size = 2
    loader.num_workers = 0
    assert isinstance(loader.batch_sampler, BatchSampler)


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"batch_size": 0}, "batch_size to be a positive int, got 0"),
        ({"batch_size": 2.5}, "batch_size to be a positive int, got 2.5"),
        ({"num_workers": -1}, "num_workers of at least 0, got -1"),
        ({"timeout": -1}, "timeout of at least 0, got -1"),
        ({"prefetch_factor": 2}, "prefetch_factor needs num_workers > 0"),
        ({"prefetch_factor": 0, "num_workers": 1}, "prefetch_factor of at least 1, got 0"),
        ({"persistent_workers": True}, "persistent_workers needs num_workers > 0"),
        ({"sampler": [0], "shuffle": True}, "sampler gives the order"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler gives the batches"),
        ({"batch_sampler": [[0]], "drop_last": True}, "batch_sampler gives the batches"),
        ({"batch_size": None, "drop_last": True}, "there is no last one"),
        ({"multiprocessing_context": "fork"}, "multiprocessing_context needs num_workers > 0"),
        ({"num_workers": 1, "multiprocessing_context": "x"}, "one of .*'fork'.* got 'x'"),
        ({"worker_type": "fiber"}, "worker_type 'process' or 'thread', got 'fiber'"),
    ],
)
def test_wrong_arguments_are_refused(kwargs, message):
    with pytest.raises(ValueError, match=f"DataLoader: .*{message}"):
        DataLoader(range(3), **kwargs)


@pytest.mark.parametrize("kwargs", [{"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}])
def test_iterable_datasets_have_their_own_order(kwargs):
    (name,) = kwargs
    with pytest.raises(ValueError, match=f"has its own order, so {name} cannot be given"):
        DataLoader(Shares(3), **kwargs)


def test_other_wrong_arguments_have_other_types():
    with pytest.raises(TypeError, match="to be a context or one of"):
        DataLoader(range(3), num_workers=1, multiprocessing_context=3)
    with pytest.raises(AssertionError, match="a timeout needs num_workers > 0"):
        iter(DataLoader(range(3), timeout=1))


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize(
    "data", [range(10), TensorDataset(facula.arange(10)), [facula.ones(1)] * 10]
)
def test_an_index_out_of_range_is_named(data, num_workers):
    loader = DataLoader(data, 2, sampler=[1, 2, 3, 10], num_workers=num_workers)
    with pytest.raises(IndexError, match="gave the index 10 for a dataset of 10 samples"):
        list(loader)


def test_spawned_workers_give_the_same_batches(tmp_path):
    code, out, err = run_script(
        """
        from data_tools import Drawing, Shares, plain
        import facula
        from facula.utils.data import DataLoader

        if __name__ == "__main__":
            def batches(data, **kwargs):
                facula.manual_seed(0)
                return plain(list(DataLoader(data, 3, **kwargs)))

            ways = {"num_workers": 2, "multiprocessing_context": "spawn"}
            assert batches(Drawing(10), **ways) == batches(Drawing(10))
            assert len(batches(Shares(10), **ways)) == 4
            print("same")
        """,
        tmp_path,
    )
    assert (code, out) == (0, "same\n"), err


def test_spawned_workers_share_the_memory_of_the_dataset(tmp_path):
    code, out, err = run_script(
        """
        import facula
        from facula.utils.data import DataLoader, Dataset

        class Marked(Dataset):
            def __init__(self):
                self.seen = facula.zeros(4)
            def __len__(self):
                return 4
            def __getitem__(self, i):
                self.seen[i] += 1
                return i

        if __name__ == "__main__":
            data = Marked()
            list(DataLoader(data, num_workers=2, multiprocessing_context="spawn"))
            print(data.seen.tolist())
        """,
        tmp_path,
    )
    assert (code, out) == (0, "[1.0, 1.0, 1.0, 1.0]\n"), err


def test_processes_are_forked_unless_the_program_chose_otherwise(tmp_path):
    code, out, err = run_script(
        """
        import multiprocessing
        from facula.utils.data import DataLoader, Dataset

        class Kinds(Dataset):
            def __len__(self):
                return 1
            def __getitem__(self, i):
                return type(multiprocessing.current_process()).__name__

        if __name__ == "__main__":
            print(*DataLoader(Kinds(), None, num_workers=1))
            multiprocessing.set_start_method("spawn")
            print(*DataLoader(Kinds(), None, num_workers=1))
        """,
        tmp_path,
    )
    assert code == 0, err
    assert out == "ForkProcess\nSpawnProcess\n"


class DrawingByName(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return facula.rand(2, generator=facula.default_generator)


def batches_of(data, **kwargs):
    facula.manual_seed(0)
    return [batch.tolist() for batch in DataLoader(data, 2, **kwargs)], facula.rand(1).item()


@pytest.mark.parametrize(
    "kwargs", [{"num_workers": 1}, {"num_workers": 3}, {"num_workers": 2, "worker_type": "thread"}]
)
def test_the_default_generator_by_its_name_is_that_of_the_batch(kwargs):
    assert batches_of(DrawingByName(), **kwargs) == batches_of(DrawingByName())


class DrawingInThreads(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        drawn = []
        thread = threading.Thread(target=lambda: drawn.append(facula.rand(2)))
        thread.start()
        thread.join()
        return drawn[0]


def test_threads_of_the_dataset_draw_other_numbers_in_each_worker():
    data = DrawingInThreads()
    batches, _ = batches_of(data, num_workers=3)
    assert len({row[0] for batch in batches for row in batch}) == 6
    assert batches == batches_of(data, num_workers=1)[0]


@pytest.mark.parametrize("worker_type", ["process", "thread"])
def test_threads_of_the_user_may_share_an_iterator(worker_type):
    iterator = iter(DataLoader(range(400), 4, num_workers=2, worker_type=worker_type))
    taken = []
    threads = [
        threading.Thread(target=lambda: taken.extend(plain(list(iterator))), daemon=True)
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert sorted(i for batch in taken for i in batch) == list(range(400))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_derived_loader_keeps_one_iterator_for_all_epochs(num_workers):
    class Endless:
        def __init__(self, sampler):
            self.sampler = sampler

        def __iter__(self):
            while True:
                yield from self.sampler

    class Loader(DataLoader):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            object.__setattr__(self, "batch_sampler", Endless(self.batch_sampler))
            self.iterator = self._get_iterator()

        def __iter__(self):
            for _ in range(2):
                yield next(self.iterator)

    loader = Loader(list(range(4)), batch_size=2, num_workers=num_workers)
    assert [batch.tolist() for _ in range(2) for batch in loader] == [[0, 1], [2, 3]] * 2
    if num_workers:
        loader.iterator._shutdown_workers()
        assert loader.iterator.is_closed


class _StandIn:
    """What an iterator reads of a loader, in an object of a package, and the dataset too."""

    _auto_collation, _dataset_kind, _index_sampler = False, 1, None
    pin_memory, timeout, worker_init_fn, generator = False, 0, None, None
    prefetch_factor, persistent_workers, multiprocessing_context = 2, False, multiprocessing

    def __init__(self, num_workers):
        self.num_workers, self.dataset = num_workers, self

    def __iter__(self):
        return iter([facula.ones(2), facula.zeros(2)])

    def collate_fn(self, batch):
        return batch


@pytest.mark.parametrize("num_workers", [0, 1])
def test_an_iterator_takes_any_object_with_the_attributes_of_a_loader(num_workers):
    names = "_MultiProcessingDataLoaderIter" if num_workers else "_SingleProcessDataLoaderIter"
    iterator = getattr(facula.utils.data.dataloader, names)(_StandIn(num_workers))
    assert [batch.tolist() for batch in iterator] == [[1, 1], [0, 0]]


class Forever:
    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from self.sampler


def test_a_loader_that_repeats_its_sampler_for_ever_may_exchange_it():
    loader = DataLoader([1, 2, 3, 4], batch_size=2)
    with pytest.raises(ValueError, match="batch_sampler cannot be changed"):
        loader.batch_sampler = Forever(loader.batch_sampler)
    loader._DataLoader__initialized = False
    loader.batch_sampler = Forever(loader.batch_sampler)
    loader._DataLoader__initialized = True
    batches = iter(loader)
    assert [next(batches).tolist() for _ in range(3)] == [[1, 2], [3, 4], [1, 2]]


def test_a_loader_tells_how_it_reads_its_dataset():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(3))

    assert DataLoader([1])._dataset_kind == _DatasetKind.Map and DataLoader([1])._auto_collation
    stream = DataLoader(Stream(), batch_size=None)
    assert stream._dataset_kind == _DatasetKind.Iterable and not stream._auto_collation
