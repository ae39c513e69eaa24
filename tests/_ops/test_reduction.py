"""Means, norms, integrals and counts."""

import numpy as np
import pytest

import facula
from check_op import check_op, check_threads

SOME = ["float32", "float64"]


def test_count_nonzero_counts_along_dims():
    x = facula.tensor([[0, 1], [2, 3]])
    assert facula.count_nonzero(x).item() == 3
    assert facula.count_nonzero(x, 0).tolist() == [1, 2]
    assert x.count_nonzero((0, 1)).item() == 3


def test_dist_is_the_norm_of_the_difference():
    check_op(
        facula.dist, lambda a, b: np.linalg.norm((a - b).ravel()), [(2, 3), (2, 3)], dtypes=SOME
    )


@pytest.mark.parametrize("dim", [None, 0, 1, (0, 1)])
def test_nansum_and_nanmean_skip_nan(dim):
    a = np.arange(12.0).reshape(3, 4)
    a[0, 1] = a[2, 3] = np.nan
    x = facula.tensor(a)
    np.testing.assert_allclose(facula.nansum(x, dim).numpy(), np.nansum(a, dim))
    np.testing.assert_allclose(facula.nanmean(x, dim).numpy(), np.nanmean(a, dim))


def test_nan_has_no_gradient_in_nansum():
    x = facula.tensor([1.0, float("nan")], requires_grad=True)
    facula.nansum(x).backward()
    assert x.grad.tolist() == [1, 0]


def test_integral_of_no_values_is_zero():
    x = facula.ones(2, 0, dtype=facula.uint8)
    assert facula.trapezoid(x).tolist() == [0, 0]
    assert facula.trapezoid(x).dtype == facula.uint8
    assert facula.cumulative_trapezoid(x).dtype == facula.float32


@pytest.mark.parametrize("dim", [0, 1])
def test_trapezoid_agrees_with_numpy(dim):
    check_op(
        lambda y: facula.trapezoid(y, dx=0.5, dim=dim),
        lambda y: np.trapezoid(y, dx=0.5, axis=dim),
        [(3, 4)],
        dtypes=SOME,
    )
    check_op(
        lambda y, x: facula.trapezoid(y, x, dim=dim),
        lambda y, x: np.trapezoid(y, x, axis=dim),
        [(3, 4), ((3,), (4,))[dim]],
        dtypes=SOME,
    )


def test_the_last_cumulative_trapezoid_is_the_integral():
    y, x = facula.rand(2, 5), facula.rand(5)
    steps = facula.cumulative_trapezoid(y, x)
    assert steps.shape == (2, 4)
    assert facula.allclose(steps[:, -1], facula.trapezoid(y, x))


@pytest.mark.parametrize("shape, dim", [((5,), 0), ((2, 3), 1), ((2, 7), -1), ((0,), 0), ((), 0)])
def test_logcumsumexp_agrees_with_numpy(shape, dim):
    def reference(a):
        return np.logaddexp.accumulate(a, axis=dim) if a.ndim else a

    check_op(lambda x: facula.logcumsumexp(x, dim), reference, [shape], dtypes=SOME)


def test_logcumsumexp_keeps_small_and_large_apart():
    x = facula.tensor([-1000.0, 0.0, 1000.0])
    assert facula.logcumsumexp(x, 0).tolist() == [-1000, 0, 1000]


def test_bincount_agrees_with_numpy():
    a, w = np.array([0, 1, 1, 5]), np.array([0.5, 1.0, 2.0, 4.0])
    assert facula.bincount(facula.tensor(a)).tolist() == np.bincount(a).tolist()
    weighted = facula.bincount(facula.tensor(a), facula.tensor(w), minlength=8)
    assert weighted.tolist() == np.bincount(a, w, 8).tolist()
    assert facula.bincount(facula.tensor([], dtype=facula.int64), minlength=2).tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="expected no negative number, got -1"):
        facula.bincount(facula.tensor([-1]))


@pytest.mark.parametrize("n, high", [(9, 4), (300, 5000), (200000, 3), (99999, 4097)])
def test_bincount_agrees_with_numpy_for_few_and_many_numbers(n, high):
    a = np.random.default_rng(0).integers(0, high, n)
    for given in (facula.tensor(a), facula.tensor(np.repeat(a, 2))[::2]):
        assert facula.equal(facula.bincount(given), facula.tensor(np.bincount(a)))
    small = facula.tensor(a % 256).to(facula.uint8)
    assert (
        facula.bincount(small, minlength=300).tolist() == np.bincount(a % 256, None, 300).tolist()
    )
    check_threads(lambda: facula.bincount(facula.tensor(a)))


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


def test_only_histc_takes_an_empty_range_for_that_of_the_elements():
    x = facula.tensor([-2.0, 0.25, 3.0, 3.25])
    for result in (
        facula.histogram(x, 2, range=(3, 3)),
        facula.histogramdd(x[:, None], [2], range=[3.0, 3.0]),
    ):
        edges = result.bin_edges[0] if isinstance(result.bin_edges, tuple) else result.bin_edges
        assert edges.tolist() == [2.5, 3, 3.5] and result.hist.tolist() == [0, 2]
    # Nor are the elements looked at.
    assert facula.histogram(x / 0, 2, range=(3, 3)).hist.tolist() == [0, 0]
    assert facula.histc(x, 2, 3, 3).tolist() == [2, 2]


def test_histc_of_16_bit_floats_neither_overflows_nor_loses_counts():
    x = facula.tensor([60000.0, -60000.0, 0.0, 1.0], dtype=facula.float16)
    assert facula.histc(x, 4).tolist() == [1, 0, 2, 1]
    assert facula.histc(x[2:], 100).tolist() == [1, *[0] * 98, 1]
    for dtype in (facula.float16, facula.bfloat16):
        counts = facula.histc(facula.ones(4096, dtype=dtype), 1, 0, 2)
        assert counts.dtype == dtype and counts.tolist() == [4096]


def test_histc_of_16_bit_floats_counts_as_that_of_float32():
    x = facula.linspace(-9, 9, 200).bfloat16()
    for dtype in (facula.float16, facula.bfloat16):
        assert facula.histc(x.to(dtype), 10).tolist() == facula.histc(x.float(), 10).tolist()


def test_histogram_returns_edges_of_its_own():
    edges = facula.tensor([0.0, 1.0, 2.0])
    facula.histogram(facula.tensor([0.5]), edges).bin_edges.zero_()
    assert edges.tolist() == [0, 1, 2]


def test_histc_counts_both_ends_and_nothing_outside_for_any_number_of_threads():
    x = facula.tensor([-1.0, 0.0, 0.5, 1.0, 1.5, float("nan"), float("inf")])
    assert facula.histc(x, 4, 0, 1).tolist() == [1, 0, 1, 1]
    many = facula.randn(300_000)[::2]
    assert facula.histc(many, 50).sum().item() == 150_000
    check_threads(lambda: facula.histc(many, 50))


def test_histc_refuses_a_range_without_end():
    with pytest.raises(RuntimeError, match="is not finite"):
        facula.histc(facula.tensor([1.0, float("inf")]))


def test_histc_of_the_widest_ranges():
    x = facula.tensor([-1e308, 0, 1e308], dtype=facula.float64)
    assert x.histc(10).tolist() == [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert facula.tensor([0.0, 1e307], dtype=facula.float64).histc(100)[[0, 99]].tolist() == [1, 1]
    # In the elements' dtype the ends are equal.
    assert facula.tensor([0.0]).histc(3, min=0, max=1e-50).sum() == 1


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles_agree_with_numpy(interpolation):
    a = np.random.default_rng(0).uniform(-1, 1, (5, 8))
    q = [0.0, 0.3, 0.5, 0.75, 1.0]
    x = facula.tensor(a)
    result = facula.quantile(
        x, facula.tensor(q, dtype=facula.float64), 1, interpolation=interpolation
    )
    np.testing.assert_allclose(result.numpy(), np.quantile(a, q, axis=1, method=interpolation))


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("dim", [None, 0, -1])
def test_nanquantile_agrees_with_numpy(dim, interpolation):
    a = np.random.default_rng(0).uniform(-1, 1, (6, 9))
    a[[0, 1, 5], [2, 2, 8]] = np.nan
    q = np.array([0.0, 0.3, 0.55, 1.0])
    expected = np.nanquantile(a, q, axis=dim, method=interpolation)
    for x in (facula.tensor(a), facula.tensor(a.T.copy()).T):
        found = facula.nanquantile(x, facula.tensor(q), dim, interpolation=interpolation)
        np.testing.assert_allclose(found.numpy(), expected)
        one = x.nanquantile(0.3, dim, True, interpolation=interpolation)
        assert one.dim() == 2
        np.testing.assert_allclose(one.numpy().reshape(expected[1].shape), expected[1])


def test_only_nan_has_the_quantile_nan():
    x = facula.tensor([[facula.nan, facula.nan], [1.0, facula.nan]])
    found = facula.nanquantile(x, 0.5, 1)
    assert found[0].isnan() and found[1].item() == 1
    assert facula.tensor(3.0).nanquantile(0.2).item() == 3
    with pytest.raises(RuntimeError, match="quantile"):
        x.nanquantile(1.5)
    with pytest.raises(RuntimeError, match="quantile"):
        facula.tensor([1, 2]).nanquantile(0.5)


def test_the_gradient_of_a_quantile_goes_to_its_two_neighbours():
    x = facula.tensor([4.0, facula.nan, 1.0, 2.0, 3.0], dtype=facula.float64, requires_grad=True)
    y = x.nanquantile(0.25)
    assert y.item() == 1.75
    (grad,) = facula.autograd.grad(y, x)
    assert grad.tolist() == [0, 0, 0.25, 0.75, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
@pytest.mark.parametrize("dx", [None, 0.5, -2])
def test_trapezoids_of_one_width_agree_with_numpy(dtype, dx):
    a = np.random.default_rng(0).integers(-9, 9, (5, 1)).astype(dtype)
    for n in (1, 2, 3, 1000):
        values = np.tile(a, n) * np.arange(n).astype(dtype)
        found = facula.trapezoid(facula.tensor(values), dx=dx)
        width = 1 if dx is None else dx
        ends = (values[:, 0] + values[:, -1]) / 2
        np.testing.assert_allclose(found.numpy(), (values.sum(1) - ends) * width, rtol=1e-5)


def test_trapezoids_of_one_width_have_gradients():
    check_op(
        lambda x: facula.trapezoid(x, dx=2),
        lambda a: (a.sum(-1) - (a[..., 0] + a[..., -1]) / 2) * 2,
        [(3, 4)],
        dtypes=["float64"],
    )


DATA = [[1.0, 5.0], [5.0, 0.0], [5.0, 0.0], [2.0, 3.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("reduce", "initial", "expected", "gradient"),
    [
        ("sum", None, [[11, 5], [0, 0], [2, 4]], [[1, 2], [1, 2], [1, 2], [5, 6], [5, 6]]),
        ("sum", 1, [[12, 6], [1, 1], [3, 5]], [[1, 2], [1, 2], [1, 2], [5, 6], [5, 6]]),
        ("mean", 1, [[4, 2], [1, 1], [1.5, 2.5]], None),
        (
            "max",
            None,
            [[5, 5], [-np.inf] * 2, [2, 3]],
            [[0, 2], [0.5, 0], [0.5, 0], [5, 6], [0, 0]],
        ),
        ("max", 5, [[5, 5], [5, 5], [5, 5]], [[0, 2], [0.5, 0], [0.5, 0], [0, 0], [0, 0]]),
        ("min", None, [[1, 0], [np.inf] * 2, [0, 1]], [[1, 0], [0, 1], [0, 1], [0, 0], [5, 6]]),
        ("prod", 5, [[125, 0], [5, 5], [0, 15]], [[125, 0], [25, 0], [25, 0], [0, 30], [50, 90]]),
    ],
)
def test_segments_of_any_length_are_reduced(reduce, initial, expected, gradient):
    data = facula.tensor(DATA, requires_grad=True)
    lengths = facula.tensor([3, 0, 2])
    y = facula.segment_reduce(data, reduce, lengths=lengths, initial=initial)
    assert y.tolist() == expected
    by_offsets = facula.segment_reduce(
        data, reduce, offsets=facula.tensor([0, 3, 3, 5]), initial=initial
    )
    assert by_offsets.tolist() == expected
    if gradient is not None:
        y.backward(facula.arange(1.0, 7).view(3, 2))
        assert data.grad.tolist() == gradient


def test_segments_lie_along_any_dimension_and_empty_ones_have_no_mean():
    data = facula.arange(8.0).view(2, 4)
    lengths = facula.tensor([[1, 3], [2, 2]])
    y = facula.segment_reduce(data, "sum", lengths=lengths, axis=1)
    assert y.tolist() == [[0, 6], [9, 13]]
    empty = facula.segment_reduce(data[0], "mean", lengths=facula.tensor([4, 0]))
    assert empty[0].item() == 1.5
    assert empty[1].isnan()
    assert facula.segment_reduce(data[:0], "sum", lengths=facula.tensor([0])).tolist() == [[0] * 4]


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (RuntimeError, {"lengths": [2, 3]}),
        (RuntimeError, {"lengths": [-1, 5]}),
        (RuntimeError, {"lengths": [4], "offsets": [0, 4]}),
        (RuntimeError, {"lengths": [4], "axis": 1}),
        (RuntimeError, {}),
        (NotImplementedError, {"lengths": [4.0]}),
    ],
)
def test_segments_that_are_not_the_data_are_refused(kind, arguments):
    tensors = {k: facula.tensor(v) if k != "axis" else v for k, v in arguments.items()}
    with pytest.raises(kind, match="segment_reduce"):
        facula.segment_reduce(facula.ones(4), "sum", **tensors)
    with pytest.raises(NotImplementedError):
        facula.segment_reduce(facula.ones(4).int(), "sum", lengths=facula.tensor([4]))


def test_histogramdd_of_points_without_coordinates_counts_none():
    counts, edges = facula.histogramdd(facula.zeros(3, 0), bins=2)
    assert counts.shape == () and counts.item() == 0 and edges == ()


def test_one_edge_bounds_no_interval():
    edge = facula.tensor([0.5])
    with pytest.raises(RuntimeError, match=r"histogramdd: expected bins > 0, .* got 1"):
        facula.histogramdd(facula.rand(3, 1), bins=[edge])
    with pytest.raises(RuntimeError, match=r"histogram: expected bins > 0, .* got 1"):
        facula.histogram(facula.rand(3), bins=edge)
