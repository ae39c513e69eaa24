"""Spread and mean at once."""

import numpy as np
import pytest

import facula
from check_op import check_op

DIMS = [None, 0, -1, (0, 2)]


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("options", [{}, {"unbiased": False}, {"correction": 2}], ids=str)
@pytest.mark.parametrize("dim", DIMS)
def test_var_mean_gives_the_variance_and_the_mean(dim, options, part):
    ddof = options.get("correction", int(options.get("unbiased", True)))

    def reference(a):
        return np.mean(a, axis=dim) if part else np.var(a, axis=dim, ddof=ddof)

    check_op(
        lambda x: facula.var_mean(x, dim, **options)[part],
        reference,
        [(3, 4, 5)],
        dtypes=["float32", "float64"],
    )


def test_var_mean_keeps_dimensions_and_agrees_with_its_parts():
    x = facula.rand(3, 4)
    variance, mean = facula.var_mean(x, 1, keepdim=True)
    assert variance.shape == mean.shape == (3, 1)
    assert facula.equal(variance, x.var(1, keepdim=True))
    assert facula.allclose(mean, x.mean(1, keepdim=True))
    variance, mean = facula.var_mean(facula.tensor([1e6, 1e6 + 1, 1e6 + 2]))
    assert (variance.item(), mean.item()) == (1, 1e6 + 1)
    with pytest.raises(RuntimeError, match=r"var_mean: .*int64"):
        facula.var_mean(facula.tensor([1, 2]))


def test_var_mean_of_complex_numbers_is_a_real_variance():
    z = facula.tensor([1 + 1j, -1 + 3j])
    variance, mean = facula.var_mean(z)
    assert (variance.item(), mean.item()) == (4, 2j)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 31, 32, 33])
@pytest.mark.parametrize("n", [2, 40, 129, 5000])
def test_spreads_of_narrow_rows_agree_with_numpy(n, width):
    a = np.random.default_rng(0).standard_normal((n, width)) * np.arange(1, width + 1) + 1e3
    for dtype, tolerance in (("float32", 1e-6), ("float64", 1e-11)):
        narrow = a.astype(dtype)
        x = facula.tensor(narrow)
        variance, mean = facula.var_mean(x, 0)
        exact = narrow.astype(np.float64)
        np.testing.assert_allclose(variance.numpy(), exact.var(0, ddof=1), rtol=tolerance)
        np.testing.assert_allclose(mean.numpy(), exact.mean(0), rtol=tolerance)
        assert x[:1].expand(n, width).contiguous().var(0).eq(0).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_spreads_of_many_complex_numbers_agree_with_numpy(dtype):
    rng = np.random.default_rng(0)
    z = (rng.standard_normal((70, 501)) + 2j * rng.standard_normal((70, 501)) + 3).astype(dtype)
    for x in (facula.tensor(z), facula.tensor(z.T.copy()).T):
        for dim in (None, 0, 1):
            variance, mean = facula.var_mean(x, dim)
            assert not variance.is_complex() and mean.dtype == x.dtype
            np.testing.assert_allclose(variance.numpy(), z.var(dim, ddof=1), rtol=1e-5)
            np.testing.assert_allclose(mean.numpy(), z.mean(dim), rtol=1e-5)
            np.testing.assert_allclose(x.std(dim).numpy(), z.std(dim, ddof=1), rtol=1e-5)
