import pytest

import facula
from facula.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

pytestmark = pytest.mark.promise("D1")


def seeded(seed=3):
    return facula.Generator().manual_seed(seed)


def test_a_sampler_must_say_its_order():
    with pytest.raises(NotImplementedError, match=r"a Sampler needs an __iter__\(\)"):
        iter(Sampler())


def test_sequential_and_random_samplers_give_every_index():
    assert list(SequentialSampler("abcd")) == [0, 1, 2, 3]
    sampler = RandomSampler(range(20))
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second
    assert len(sampler) == 20


def test_random_sampler_gives_the_numbers_of_pytorch():
    # torch 2.13: RandomSampler(range(10), num_samples=12, generator=Generator().manual_seed(3))
    sampler = RandomSampler(range(10), num_samples=12, generator=seeded())
    assert list(sampler) == [6, 0, 3, 7, 8, 5, 1, 9, 2, 4, 9, 8]


def test_random_sampler_with_replacement_repeats():
    sampler = RandomSampler(range(3), replacement=True, num_samples=70, generator=seeded())
    drawn = list(sampler)
    assert len(drawn) == len(sampler) == 70
    assert set(drawn) == {0, 1, 2}


def test_random_sampler_follows_the_size_of_its_dataset():
    data = [1, 2]
    sampler = RandomSampler(data)
    data.append(3)
    assert sorted(sampler) == [0, 1, 2]


def test_subset_and_weighted_samplers():
    assert sorted(SubsetRandomSampler([5, 7], seeded())) == [5, 7]
    assert len(SubsetRandomSampler([5, 7])) == 2
    assert list(WeightedRandomSampler([0, 1, 0], 5)) == [1] * 5
    assert sorted(WeightedRandomSampler([1, 1, 1], 3, replacement=False)) == [0, 1, 2]
    assert len(WeightedRandomSampler([1], 9)) == 9


@pytest.mark.parametrize(
    "drop_last, expected", [(False, [[0, 1], [2, 3], [4]]), (True, [[0, 1], [2, 3]])]
)
def test_batch_sampler_makes_lists(drop_last, expected):
    sampler = BatchSampler(range(5), 2, drop_last)
    assert list(sampler) == expected
    assert len(sampler) == len(expected)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("n, replicas", [(10, 3), (2, 5), (6, 3), (0, 2)])
def test_distributed_samplers_share_evenly(n, replicas, drop_last):
    shares = [
        DistributedSampler(range(n), replicas, rank, shuffle=False, drop_last=drop_last)
        for rank in range(replicas)
    ]
    drawn = [list(share) for share in shares]
    assert [len(d) for d in drawn] == [len(share) for share in shares]
    assert len({len(d) for d in drawn}) == 1
    if not drop_last:
        assert {i for d in drawn for i in d} == set(range(n))


def test_distributed_sampler_has_an_order_for_each_epoch():
    sampler = DistributedSampler(range(20), 2, 0, seed=4)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: RandomSampler([]), ValueError, "RandomSampler: expected num_samples to be a pos"),
        (lambda: RandomSampler([1], num_samples=1.5), ValueError, "positive int, got 1.5"),
        (lambda: RandomSampler([1], replacement=3), TypeError, "replacement to be a bool, got 3"),
        (lambda: WeightedRandomSampler([1], 0), ValueError, "num_samples .* got 0"),
        (lambda: WeightedRandomSampler([1], 1, 1), ValueError, "replacement to be a bool, got 1"),
        (lambda: WeightedRandomSampler([[1]], 1), ValueError, r"weights of shape \(1, 1\)"),
        (lambda: list(WeightedRandomSampler([1], 2, False)), RuntimeError, "sample"),
        (lambda: BatchSampler([1], 0, False), ValueError, "batch_size to be a positive int, got 0"),
        (lambda: BatchSampler([1], True, False), ValueError, "positive int, got True"),
        (lambda: BatchSampler([1], 1, 3), ValueError, "drop_last to be a bool, got 3"),
        (lambda: DistributedSampler([1]), ValueError, "expected num_replicas and rank"),
        (lambda: DistributedSampler([1], 2, 2), ValueError, "a rank of 0 to 1, got 2"),
    ],
)
def test_samplers_refuse_wrong_arguments(make, error, message):
    with pytest.raises(error, match=message):
        make()
