"""Norms of vectors and matrices."""

import math

import numpy as np
import pytest
from linalg.matrices import assert_near, check_gradients, random

import facula

L = facula.linalg
ORDERS = ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf]


def test_vector_norm_takes_any_order():
    x = facula.tensor([3.0, -4.0])
    norms = [L.vector_norm(x, p).item() for p in (0, 1, 2, float("inf"))]
    assert norms == [2, 7, 5, 4]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("ord", ORDERS)
def test_matrix_norms_are_numpys(ord, dtype):
    a = random(dtype, 2, 3, 4)
    for dim in ((-2, -1), (0, 2), (2, 0)):
        for keepdim in (False, True):
            expected = np.linalg.norm(a.numpy(), ord, dim, keepdim)
            assert_near(L.matrix_norm(a, ord, dim, keepdim), expected)
            assert_near(L.norm(a, ord, dim, keepdim), expected)
    assert_near(L.norm(a[0], ord), np.linalg.norm(a[0].numpy(), ord))
    check_gradients(lambda x: L.matrix_norm(x, ord), a)


def test_norm_chooses_by_the_number_of_dimensions():
    x = random("float64", 2, 3)
    assert_near(L.norm(x), np.linalg.norm(x.numpy()))
    assert_near(L.norm(x, 3, 1), np.linalg.norm(x.numpy(), 3, 1))
    assert_near(L.norm(x.reshape(2, 3, 1)), np.linalg.norm(x.numpy()))
    assert L.norm(x, dtype=facula.complex128).dtype == facula.float64
    assert_near(facula.norm(x, "nuc"), np.linalg.norm(x.numpy(), "nuc"))
    assert facula.norm(x.expand(4, 2, 3), "nuc", (1, 2), keepdim=True).shape == (4, 1, 1)


def test_orders_and_dimensions_that_are_none_are_refused():
    x = facula.ones(2, 2, 2)
    for f in (
        lambda: L.matrix_norm(facula.ones(2)),
        lambda: L.matrix_norm(x, 3),
        lambda: L.matrix_norm(x, "sum"),
        lambda: L.matrix_norm(x, dim=(0, 0)),
        lambda: L.matrix_norm(x, dim=(0,)),
        lambda: L.matrix_norm(x.long()),
        lambda: L.matrix_norm(x, dtype=facula.int64),
        lambda: L.norm(x, 2),
        lambda: L.norm(x, 2, (0, 1, 2)),
        lambda: facula.norm(x, "nuc"),
    ):
        with pytest.raises(RuntimeError, match=r"^(linalg\.)?(matrix_)?norm: "):
            f()
    with pytest.raises(IndexError):
        L.matrix_norm(facula.ones(0, 2), -2)


def test_the_second_derivative_of_the_norm_of_zeros_is_zero():
    x = facula.zeros(3, requires_grad=True)
    (grad,) = facula.autograd.grad(facula.linalg.vector_norm(x), x, create_graph=True)
    (second,) = facula.autograd.grad(grad.sum(), x)
    assert second.tolist() == [0, 0, 0]
