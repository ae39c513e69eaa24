"""Quantiles of what is not NaN."""

import numpy as np
import pytest

import facula

NAN = float("nan")


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
    x = facula.tensor([[NAN, NAN], [1.0, NAN]])
    found = facula.nanquantile(x, 0.5, 1)
    assert found[0].isnan() and found[1].item() == 1
    assert facula.tensor(3.0).nanquantile(0.2).item() == 3
    with pytest.raises(RuntimeError, match="quantile"):
        x.nanquantile(1.5)
    with pytest.raises(RuntimeError, match="quantile"):
        facula.tensor([1, 2]).nanquantile(0.5)


def test_the_gradient_of_a_quantile_goes_to_its_two_neighbours():
    x = facula.tensor([4.0, NAN, 1.0, 2.0, 3.0], dtype=facula.float64, requires_grad=True)
    y = x.nanquantile(0.25)
    assert y.item() == 1.75
    (grad,) = facula.autograd.grad(y, x)
    assert grad.tolist() == [0, 0, 0.25, 0.75, 0]
