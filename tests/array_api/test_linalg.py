"""The extension of linear algebra: values against array-api-strict, factors by their products."""

import numpy as np
import pytest
from array_api_cases import COMPLEX, FLOATS, INTEGERS, arrays, assert_agree, given, results
from hypothesis import strategies as st

import facula
from facula.array_api import linalg

RNG = np.random.default_rng(0)
KINDS = [*FLOATS, *COMPLEX]


def matrices(dtype, *shape):
    values = RNG.normal(size=shape)
    if dtype in COMPLEX:
        values = values + 1j * RNG.normal(size=shape)
    return values.astype(dtype)


def positive(dtype, *shape):
    x = matrices(dtype, *shape)
    return (x @ x.conj().swapaxes(-1, -2) + np.eye(shape[-1])).astype(dtype)


def precision(dtype):
    return 1e-3 if dtype in ("float32", "complex64") else 1e-9


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("name", ["cholesky", "det", "eigvalsh", "inv", "slogdet", "svdvals"])
def test_of_one_matrix(name, dtype):
    assert_agree(f"linalg.{name}", positive(dtype, 2, 3, 3), rtol=precision(dtype))


@pytest.mark.parametrize("dtype", KINDS)
def test_options_of_one_matrix(dtype):
    x = positive(dtype, 2, 3, 3)
    agree = {"rtol": precision(dtype)}
    assert_agree("linalg.cholesky", x, upper=True, **agree)
    assert_agree("linalg.matrix_power", x, 3, **agree)
    assert_agree("linalg.matrix_power", x, -1, **agree)
    assert_agree("linalg.matrix_rank", x)
    assert_agree("linalg.pinv", x[:, :2], **agree)
    for ord in "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf:
        assert_agree("linalg.matrix_norm", x[:, :2], ord=ord, keepdims=ord == 1, **agree)


def test_a_rank_has_its_tolerance():
    x = facula.tensor([[1.0, 0.0], [0.0, 0.01]])
    assert linalg.matrix_rank(x).item() == 2
    assert linalg.matrix_rank(x, rtol=0.1).item() == 1
    assert linalg.pinv(x, rtol=0.1).tolist() == [[1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3, 4)])
def test_factors(dtype, shape):
    x = matrices(dtype, *shape)
    for full in False, True:
        ours, theirs = results("linalg.svd", x, full_matrices=full)
        assert ours.U.shape == theirs.U.shape
        assert ours.Vh.shape == theirs.Vh.shape
        k = ours.S.shape[-1]
        product = (ours.U[..., :k] * ours.S[..., None, :]) @ ours.Vh[..., :k, :]
        np.testing.assert_allclose(product.numpy(), x, atol=precision(dtype))
        ours, theirs = results("linalg.qr", x, mode="complete" if full else "reduced")
        assert ours.Q.shape == theirs.Q.shape
        assert ours.R.shape == theirs.R.shape
        np.testing.assert_allclose((ours.Q @ ours.R).numpy(), x, atol=precision(dtype))


@pytest.mark.parametrize("dtype", KINDS)
def test_eigenvectors(dtype):
    x = positive(dtype, 2, 3, 3)
    values, vectors = linalg.eigh(facula.tensor(x))
    assert not values.is_complex()
    ours = (vectors * values[..., None, :]) @ vectors.mH
    np.testing.assert_allclose(ours.numpy(), x, atol=10 * precision(dtype))


@pytest.mark.parametrize("right", [(3,), (3, 2), (2, 3, 1), (3, 3), (5, 1, 3, 2)])
def test_solutions(right):
    x1, x2 = positive("float64", 2, 3, 3), matrices("float64", *right)
    assert_agree("linalg.solve", x1, x2, rtol=1e-9)


@given(st.data())
def test_products(data):
    kind = data.draw(st.sampled_from([INTEGERS, FLOATS, COMPLEX]))
    left, right = (data.draw(arrays(kind, (n,))) for n in (2, 3))
    assert_agree("linalg.outer", left, right)
    x = data.draw(arrays(kind, (2, 3, 4)))
    offset = data.draw(st.integers(-3, 4))
    assert_agree("linalg.diagonal", x, offset=offset)
    assert_agree("linalg.trace", x, offset=offset)
    assert_agree("linalg.cross", data.draw(arrays(kind, (2, 1, 3))), right)
    assert_agree("linalg.matrix_transpose", x)


def test_only_vectors_of_three_have_a_cross_product():
    with pytest.raises(ValueError, match="expected three elements along -1"):
        linalg.cross(facula.ones(1), facula.ones(3))


@given(st.data())
def test_vector_norms(data):
    x = data.draw(arrays(KINDS, (2, 3)))
    axis = data.draw(st.sampled_from([None, 0, -1, (0, 1), ()]))
    ord = data.draw(st.sampled_from([0, 1, 2, 3, np.inf, -np.inf]))
    assert_agree("linalg.vector_norm", x, axis=axis, ord=ord, keepdims=True, rtol=1e-5)
    assert_agree("linalg.vector_norm", x, axis=axis, rtol=1e-5)
