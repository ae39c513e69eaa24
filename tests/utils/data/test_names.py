import facula
from facula.utils.data import DataLoader, IterableDataset, TensorDataset, dataloader
from facula.utils.data._utils.worker import _generate_state


def test_iterators_have_pytorchs_names():
    loader = DataLoader(TensorDataset(facula.arange(4)), batch_size=2)
    iterator = iter(loader)
    assert isinstance(iterator, dataloader._BaseDataLoaderIter)
    assert isinstance(iterator, dataloader._SingleProcessDataLoaderIter)
    assert not isinstance(iterator, dataloader._MultiProcessingDataLoaderIter)
    assert not isinstance(3, dataloader._BaseDataLoaderIter)


def test_seeds_of_workers_are_pytorchs():
    expected = [3167859778, 398126399, 4292384237, 4020361526]
    assert _generate_state(2**40 + 12345, 3) == expected


def test_a_sampler_without_end():
    numbers = iter(dataloader._InfiniteConstantSampler())
    assert [next(numbers) for _ in range(3)] == [None] * 3
    assert issubclass(IterableDataset, facula.utils.data.Dataset)
