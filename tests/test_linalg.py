"""facula.linalg: what it has beyond the functions of the top level."""

import pytest

import facula


def test_cross_goes_along_the_last_dimension():
    x = facula.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    expected = facula.cross(x, x.flip(0), dim=-1)
    assert facula.equal(facula.linalg.cross(x, x.flip(0)), expected)
    with pytest.raises(RuntimeError, match="cross: expected size 3 in dimension -1"):
        facula.linalg.cross(facula.ones(2, 3), facula.ones(2, 4))


def test_vector_norm_takes_any_order():
    x = facula.tensor([3.0, -4.0])
    norms = [facula.linalg.vector_norm(x, p).item() for p in (0, 1, 2, float("inf"))]
    assert norms == [2, 7, 5, 4]


def test_the_second_derivative_of_the_norm_of_zeros_is_zero():
    x = facula.zeros(3, requires_grad=True)
    (grad,) = facula.autograd.grad(facula.linalg.vector_norm(x), x, create_graph=True)
    (second,) = facula.autograd.grad(grad.sum(), x)
    assert second.tolist() == [0, 0, 0]
