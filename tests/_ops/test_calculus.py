"""Differences, integrals and cumulative sums in Python."""

import numpy as np
import pytest

import facula
from check_op import check_op

SOME = ["float32", "float64"]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("dim", [0, -1])
def test_diff_agrees_with_numpy(n, dim):
    check_op(
        lambda x: facula.diff(x, n, dim),
        lambda a: np.diff(a, n, dim),
        [(3, 4)],
        dtypes=[*SOME, "int64"],
    )


def test_diff_takes_values_before_and_after():
    check_op(
        lambda x, y: facula.diff(x, prepend=y, append=y),
        lambda a, b: np.diff(a, prepend=b, append=b),
        [(2, 3), (2, 1)],
        dtypes=SOME,
    )
    assert facula.diff(facula.tensor([True, True, False])).tolist() == [False, True]


def test_diff_of_order_zero_is_a_copy_without_what_comes_before_and_after():
    x = facula.ones(3)
    y = facula.diff(x, 0, prepend=facula.zeros(2))
    assert y.tolist() == [1, 1, 1]
    assert y.data_ptr() != x.data_ptr()


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


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_agrees_with_numpy(edge_order):
    a = np.random.default_rng(0).normal(size=(4, 5))
    points = [np.array([0.0, 1.0, 3.0, 4.0]), np.array([0.0, 2.0, 3.0, 7.0, 8.0])]
    expected = np.gradient(a, *points, edge_order=edge_order)
    spacing = [facula.tensor(p) for p in points]
    result = facula.gradient(facula.tensor(a), spacing=spacing, edge_order=edge_order)
    for r, e in zip(result, expected, strict=True):
        np.testing.assert_allclose(r.numpy(), e, rtol=1e-12)
    (result,) = facula.gradient(facula.tensor(a), spacing=0.5, dim=1, edge_order=edge_order)
    expected = np.gradient(a, 0.5, axis=1, edge_order=edge_order)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)
    with pytest.raises(RuntimeError, match="expected at least 2 points in dimension 0"):
        facula.gradient(facula.ones(1))
