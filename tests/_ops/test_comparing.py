"""Comparing, membership, counting and searching."""

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


def test_bincount_agrees_with_numpy():
    a, w = np.array([0, 1, 1, 5]), np.array([0.5, 1.0, 2.0, 4.0])
    assert facula.bincount(facula.tensor(a)).tolist() == np.bincount(a).tolist()
    weighted = facula.bincount(facula.tensor(a), facula.tensor(w), minlength=8)
    assert weighted.tolist() == np.bincount(a, w, 8).tolist()
    assert facula.bincount(facula.tensor([], dtype=facula.int64), minlength=2).tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="expected no negative number, got -1"):
        facula.bincount(facula.tensor([-1]))


def test_histograms_agree_with_numpy():
    a = np.random.default_rng(0).normal(size=200)
    x = facula.tensor(a)
    for bins, ends in ((10, None), (7, (-1.0, 1.0))):
        expected, edges = np.histogram(a, bins, ends)
        result = facula.histogram(x, bins, range=ends)
        assert result.hist.tolist() == expected.tolist()
        np.testing.assert_allclose(result.bin_edges.numpy(), edges, rtol=1e-12)
        low, high = ends or (0, 0)
        assert facula.histc(x, bins, low, high).tolist() == expected.tolist()
    edges = np.array([-1.0, 0.0, 0.5, 2.0])
    expected = np.histogram(a, edges, density=True)[0]
    result = facula.histogram(x, facula.tensor(edges), density=True)
    np.testing.assert_allclose(result.hist.numpy(), expected, rtol=1e-12)


def test_histc_of_16_bit_floats_neither_overflows_nor_loses_counts():
    x = facula.tensor([60000.0, -60000.0, 0.0, 1.0], dtype=facula.float16)
    assert facula.histc(x, 4).tolist() == [1, 0, 2, 1]
    assert facula.histc(x[2:], 100).tolist() == [1, *[0] * 98, 1]
    for dtype in (facula.float16, facula.bfloat16):
        counts = facula.histc(facula.ones(4096, dtype=dtype), 1, 0, 2)
        assert counts.dtype == dtype and counts.tolist() == [4096]


def test_histc_counts_both_ends_and_nothing_outside_for_any_number_of_threads():
    x = facula.tensor([-1.0, 0.0, 0.5, 1.0, 1.5, float("nan"), float("inf")])
    assert facula.histc(x, 4, 0, 1).tolist() == [1, 0, 1, 1]
    many = facula.randn(300_000)[::2]
    assert facula.histc(many, 50).sum().item() == 150_000
    check_threads(lambda: facula.histc(many, 50))


def test_histc_refuses_a_range_without_end():
    with pytest.raises(RuntimeError, match="is not finite"):
        facula.histc(facula.tensor([1.0, INF]))


def test_count_nonzero_counts_along_dims():
    x = facula.tensor([[0, 1], [2, 3]])
    assert facula.count_nonzero(x).item() == 3
    assert facula.count_nonzero(x, 0).tolist() == [1, 2]
    assert x.count_nonzero((0, 1)).item() == 3


def test_float_power_works_in_double_precision():
    result = facula.float_power(facula.tensor([2, 3]), 0.5)
    assert result.dtype == facula.float64
    np.testing.assert_allclose(result.numpy(), np.sqrt([2, 3]), rtol=1e-15)
    assert facula.float_power(2, facula.tensor([3.0])).tolist() == [8]


def test_nan_to_num_replaces_each_kind():
    x = facula.tensor([NAN, INF, -INF, 1.0], requires_grad=True)
    y = facula.nan_to_num(x, nan=5.0, posinf=6.0, neginf=7.0)
    assert y.tolist() == [5, 6, 7, 1]
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 1]
    limits = facula.finfo(facula.float32)
    assert facula.nan_to_num(x.detach()).tolist() == [0, limits.max, limits.min, 1]
    assert facula.nan_to_num(facula.tensor([1, 2])).tolist() == [1, 2]


def test_methods_in_place_change_the_tensor():
    x = facula.tensor([NAN, 1.0])
    assert x.nan_to_num_() is x
    assert x.tolist() == [0, 1]
    with pytest.raises(RuntimeError, match=r"float_power_: the result is torch\.float64"):
        x.float_power_(2)


def test_histc_of_the_widest_ranges():
    x = facula.tensor([-1e308, 0, 1e308], dtype=facula.float64)
    assert x.histc(10).tolist() == [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert facula.tensor([0.0, 1e307], dtype=facula.float64).histc(100)[[0, 99]].tolist() == [1, 1]
    # In the elements' dtype the ends are equal.
    assert facula.tensor([0.0]).histc(3, min=0, max=1e-50).sum() == 1
