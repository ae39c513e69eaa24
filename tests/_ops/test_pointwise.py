"""Powers, numbers that are none, and differences of neighbours."""

import numpy as np
import pytest

import facula
from check_op import check_op

NAN, INF = float("nan"), float("inf")
SOME = ["float32", "float64"]


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
    with pytest.raises(RuntimeError, match="diff: expected append of as many dimensions"):
        facula.diff(x, 0, append=facula.zeros(1, 2))


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_agrees_with_numpy(edge_order):
    a = np.random.default_rng(0).normal(size=(4, 5))
    points = [np.array([0.0, 1.0, 3.0, 4.0]), np.array([0.0, 2.0, 3.0, 7.0, 8.0])]
    expected = np.gradient(a, *points, edge_order=edge_order)
    spacing = [facula.tensor(p) for p in points]
    result = facula.gradient(facula.tensor(a), spacing=spacing, edge_order=edge_order)
    for r, e in zip(result, expected, strict=True):
        np.testing.assert_allclose(r.numpy(), e, rtol=1e-12)
    expected = np.gradient(a, 0.5, axis=1, edge_order=edge_order)
    for step in (0.5, facula.tensor(0.5)):
        (result,) = facula.gradient(facula.tensor(a), spacing=step, dim=1, edge_order=edge_order)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)
    with pytest.raises(RuntimeError, match="expected at least 2 points in dimension 0"):
        facula.gradient(facula.ones(1))
