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
