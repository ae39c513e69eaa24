import pytest

import facula
from facula.utils.data import (
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)

pytestmark = pytest.mark.promise("D1")


class Count(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


def test_a_dataset_must_say_how_to_get_a_sample():
    with pytest.raises(NotImplementedError, match=r"a Dataset needs a __getitem__\(index\)"):
        Dataset()[0]
    with pytest.raises(TypeError, match="has no len"):
        len(Dataset())


def test_tensor_dataset_has_the_rows_of_its_tensors():
    x, y = facula.arange(6).view(3, 2), facula.arange(3)
    data = TensorDataset(x, y)
    assert len(data) == 3
    assert [part.tolist() for part in data[-1]] == [[4, 5], 2]
    assert [part.tolist() for part in data[:2]] == [[[0, 1], [2, 3]], [0, 1]]


def test_tensor_dataset_refuses_unequal_lengths():
    with pytest.raises(AssertionError, match=r"tensors of one length, got \(2,\), \(3, 1\)"):
        TensorDataset(facula.ones(2), facula.ones(3, 1))


def test_stack_dataset_puts_datasets_side_by_side():
    assert StackDataset([1, 2], "ab")[1] == (2, "b")
    assert StackDataset(x=[1, 2], y="ab")[0] == {"x": 1, "y": "a"}
    assert StackDataset([1, 2], "ab").__getitems__([1, 0]) == [(2, "b"), (1, "a")]
    inner = Subset([5, 6, 7], [2, 1])
    assert StackDataset(inner, "ab").__getitems__([0]) == [(7, "a")]


@pytest.mark.parametrize(
    "args, kwargs, message",
    [
        ((), {}, "at least one dataset"),
        (([1, 2], [1]), {}, r"datasets of one length, got \[2, 1\]"),
        (([1],), {"a": [1]}, "either in order or by name, got both"),
    ],
)
def test_stack_dataset_refuses_what_does_not_fit(args, kwargs, message):
    with pytest.raises(ValueError, match=message):
        StackDataset(*args, **kwargs)


def test_stack_dataset_refuses_a_wrong_number_of_samples():
    class Few(Dataset):
        def __len__(self):
            return 2

        def __getitems__(self, indices):
            return [0]

    with pytest.raises(ValueError, match="2 indices to return as many samples, got 1"):
        StackDataset(Few(), "ab").__getitems__([0, 1])


def test_concat_dataset_counts_through():
    data = ConcatDataset(["ab", "cde"])
    assert len(data) == 5
    assert [data[i] for i in range(-5, 5)] == list("abcde") * 2
    assert data.cumulative_sizes == [2, 5]
    with pytest.warns(DeprecationWarning, match="cumulative_sizes"):
        assert data.cummulative_sizes == [2, 5]
    with pytest.raises(IndexError, match="index 5 is behind the last of 5"):
        data[5]
    with pytest.raises(ValueError, match="index -6 is before the first of 5"):
        data[-6]


def test_datasets_are_added():
    class Letters(Dataset):
        def __getitem__(self, i):
            return "ab"[i]

        def __len__(self):
            return 2

    assert (Letters() + Letters())[3] == "b"
    chain = Count(2) + Count(1)
    assert isinstance(chain, ChainDataset)
    assert list(chain) == [0, 1, 0]
    assert len(chain) == 3


def test_concat_and_chain_take_datasets_of_their_kind():
    with pytest.raises(AssertionError, match="at least one dataset"):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="ChainDataset takes those"):
        ConcatDataset([Count(1)])
    with pytest.raises(AssertionError, match="ConcatDataset takes those"):
        list(ChainDataset([[1, 2]]))


def test_subset_has_the_samples_of_its_indices():
    data = Subset("abcd", [3, 0])
    assert len(data) == 2
    assert [data[0], data[-1]] == ["d", "a"]
    assert data.__getitems__([1, 0]) == ["a", "d"]
    tensors = Subset(TensorDataset(facula.arange(4)), [3, 0])
    assert tensors[[0, 1]][0].tolist() == [3, 0]


def test_random_split_gives_each_sample_to_one_part():
    parts = random_split(range(10), [7, 3], facula.Generator().manual_seed(1))
    assert [len(part) for part in parts] == [7, 3]
    assert sorted(i for part in parts for i in part) == list(range(10))


def test_random_split_gives_what_is_left_over_to_the_first_parts():
    assert [len(p) for p in random_split(range(11), [1 / 3, 1 / 3, 1 / 3])] == [4, 4, 3]
    with pytest.warns(UserWarning, match="part 1 has no samples"):
        random_split(range(3), [0.99, 0.01])


@pytest.mark.parametrize("lengths", [[3, 3], [0.5, 0.6], [0.5, -0.5]])
def test_random_split_refuses_lengths_that_do_not_add_up(lengths):
    with pytest.raises(ValueError, match="add up to the 10 samples or, as fractions, to 1"):
        random_split(range(10), lengths)


def test_random_split_refuses_fractions_out_of_range():
    with pytest.raises(ValueError, match=r"fractions in \[0, 1\], got 1.5 at 0"):
        random_split(range(10), [1.5, -0.5])


@pytest.mark.parametrize("wrap", [lambda data: data, lambda data: Subset(data, range(9, -1, -1))])
def test_gathered_rows_are_the_collated_samples(wrap):
    data = TensorDataset(facula.rand(10, 3), facula.arange(10))
    indices = [[3, 0, -1], [9]]
    quick = list(DataLoader(wrap(data), batch_sampler=indices))
    data.tensors = (data.tensors[0].requires_grad_(), data.tensors[1])
    slow = list(DataLoader(wrap(data), batch_sampler=indices))
    assert [type(batch) for batch in quick] == [list, list]
    for a, b in zip(quick, slow, strict=True):
        assert all(facula.equal(p, q.detach()) for p, q in zip(a, b, strict=True))
