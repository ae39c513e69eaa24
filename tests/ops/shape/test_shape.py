"""Triangles in place."""

import numpy as np
import pytest

import facula


@pytest.mark.promise("T5")
@pytest.mark.parametrize("diagonal", [-2, 0, 1, 5])
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3), (0, 3)])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_in_place_agree_with_numpy(name, shape, diagonal):
    a = np.arange(1, np.prod(shape) + 1).reshape(shape)
    for dtype in ("float32", "bfloat16", "int64", "complex64"):
        for x in (facula.tensor(a), facula.tensor(a.swapaxes(-1, -2).copy()).transpose(-1, -2)):
            x = x.to(getattr(facula, dtype))
            assert getattr(x, name + "_")(diagonal) is x
            assert x.tolist() == getattr(np, name)(a, diagonal).tolist()


@pytest.mark.parametrize("name", ["tril_", "triu_"])
def test_triangles_in_place_pass_the_gradient_of_what_they_keep(name):
    x = facula.rand(3, 3, dtype=facula.float64, requires_grad=True)
    f = lambda x: getattr(x * x, name)()  # noqa: E731
    assert facula.autograd.gradcheck(f, (x,))
    assert facula.autograd.gradgradcheck(f, (x,))
