"""Equality with tolerance, membership, and places in sorted sequences."""

import numpy as np
import pytest

import facula
from check_op import check_threads

NAN, INF = float("nan"), float("inf")


def test_isclose_agrees_with_numpy():
    a = np.array([1.0, 1.0, NAN, INF, INF, 0.0, 1e-9])
    b = np.array([1.0 + 1e-6, 1.1, NAN, INF, -INF, 1e-9, 0.0])
    for options in ({}, {"rtol": 0.2}, {"atol": 0.2}, {"equal_nan": True}, {"rtol": 0, "atol": 0}):
        result = facula.isclose(facula.tensor(a), facula.tensor(b), **options)
        assert result.tolist() == np.isclose(a, b, **options).tolist()
        assert facula.allclose(facula.tensor(a), facula.tensor(b), **options) == result.all()


def test_isclose_of_unsigned_integers_does_not_wrap_around():
    a = facula.tensor([1, 250], dtype=facula.uint8)
    b = facula.tensor([2, 5], dtype=facula.uint8)
    assert facula.isclose(a, b, rtol=0, atol=1).tolist() == [True, False]
    with pytest.raises(RuntimeError, match="expected inputs of one dtype"):
        facula.isclose(a, b.float())


@pytest.mark.parametrize("invert", [False, True])
def test_isin_agrees_with_numpy(invert):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 20, (4, 5)), rng.integers(0, 20, 7)
    expected = np.isin(a, b, invert=invert)
    result = facula.isin(facula.tensor(a), facula.tensor(b), invert=invert)
    assert result.tolist() == expected.tolist()
    assert facula.isin(facula.tensor(a), 3).tolist() == (a == 3).tolist()
    assert facula.isin(3, facula.tensor(b)).item() == (3 in b)


def test_nan_is_in_nothing():
    x = facula.tensor([1.0, NAN])
    assert facula.isin(x, facula.tensor([NAN, 1.0])).tolist() == [True, False]


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted_agrees_with_numpy(right):
    rng = np.random.default_rng(0)
    ordered, values = np.sort(rng.integers(0, 10, 9)), rng.integers(-2, 12, (3, 4))
    expected = np.searchsorted(ordered, values, "right" if right else "left")
    tensors = facula.tensor(ordered), facula.tensor(values)
    assert facula.searchsorted(*tensors, right=right).tolist() == expected.tolist()
    assert facula.bucketize(tensors[1], tensors[0], right=right).tolist() == expected.tolist()
    rows = facula.stack([tensors[0], tensors[0] + 1])
    result = facula.searchsorted(rows, tensors[1][:2] + facula.tensor([[0], [1]]), right=right)
    assert result.tolist() == expected[:2].tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "uint8", "int32"])
@pytest.mark.parametrize("right", [False, True])
def test_searchsorted_finds_the_place_in_sequences_of_every_length(dtype, right):
    kind = getattr(facula, dtype)
    values = facula.arange(40).to(kind) / 2 if "float" in dtype else facula.arange(20, dtype=kind)
    for n in [*range(20), 100]:
        ordered = facula.arange(n).to(kind) // 2 * 2
        less = ordered[:, None] <= values if right else ordered[:, None] < values
        assert facula.searchsorted(ordered, values, right=right).equal(less.sum(0))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64", "uint8", "int32", "int64"])
@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 1000])
def test_searchsorted_finds_the_places_of_many_values(dtype, n):
    kind = getattr(facula, dtype)
    ordered, values = (facula.arange(n) % 250).sort()[0].to(kind), (facula.arange(200) * 7) % 256
    for right in (False, True):
        one_by_one = [facula.searchsorted(ordered, v, right=right).item() for v in values.to(kind)]
        result = facula.searchsorted(ordered, values.to(kind), right=right)
        assert result.tolist() == one_by_one


def test_searchsorted_takes_bools_among_numbers():
    edges = facula.tensor([0.5, 1.0])
    assert facula.bucketize(facula.tensor([True, False]), edges).tolist() == [1, 0]
    with pytest.raises(NotImplementedError, match="searchsorted: expected real numbers, got bool"):
        facula.searchsorted(edges.bool(), facula.tensor([True]))


def test_searchsorted_puts_nan_last():
    ordered = facula.tensor([1.0, 2.0, NAN])
    assert facula.searchsorted(ordered, facula.tensor([0.0, NAN])).tolist() == [0, 3]
    assert facula.searchsorted(ordered, facula.tensor([0.0, NAN]), right=True).tolist() == [0, 3]


def test_searchsorted_is_the_same_for_any_number_of_threads():
    ordered, values = facula.randn(2, 50).sort()[0], facula.randn(2, 9001)
    check_threads(lambda: facula.searchsorted(ordered, values))


@pytest.mark.parametrize(
    "args, message",
    [
        ((facula.zeros(2, 3), 1), r"a number needs a sequence of one dimension"),
        ((facula.tensor(1.0), facula.ones(2)), r"a sequence with at least one dimension"),
        ((facula.zeros(2, 3), facula.ones(3, 3)), r"to agree in all .*, got \(2, 3\) and \(3, 3\)"),
    ],
)
def test_searchsorted_refuses_sequences_that_do_not_fit(args, message):
    with pytest.raises(RuntimeError, match="searchsorted: .*" + message):
        facula.searchsorted(*args)


def test_searchsorted_takes_numbers_sorters_and_int32():
    unsorted = facula.tensor([5, 1, 3])
    result = facula.searchsorted(unsorted, 4, sorter=unsorted.argsort(), out_int32=True)
    assert result.item() == 2
    assert result.dtype == facula.int32
    with pytest.raises(RuntimeError, match="contradict each other"):
        facula.searchsorted(unsorted, 4, right=True, side="left")
