"""Eigenvalues, singular values, determinants, and what they tell of a matrix."""

import math

import numpy as np
import pytest
from linalg.matrices import (
    DTYPES,
    SIZES,
    assert_near,
    check_gradients,
    positive,
    random,
    regular,
)

import facula

L = facula.linalg


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_eigenvectors_of_hermitian_matrices_diagonalise_them(n, dtype):
    x = random(dtype, 2, n, n)
    a = x + x.mH
    values, vectors = L.eigh(a)
    assert_near(values, np.linalg.eigvalsh(a.numpy()))
    assert_near(vectors @ (values.unsqueeze(-1) * vectors.mH), a)
    assert_near(vectors.mH @ vectors, facula.eye(n).to(a.dtype).expand_as(a))
    assert_near(L.eigvalsh(a), values)
    assert vectors.stride() == (n * n, 1, n)


def test_one_triangle_of_hermitian_matrices_is_read():
    a = positive("float64", 4, 4)
    unread = facula.full((4, 4), math.nan, dtype=a.dtype).triu(1)
    assert_near(L.eigvalsh(a.tril() + unread), L.eigvalsh(a))
    assert_near(L.eigvalsh(a.triu(), UPLO="U"), L.eigvalsh(a))
    for n in (4, 40, 150):
        a = positive("complex128", n, n)
        given = a.triu() + facula.full_like(a, math.nan).tril(-1) + 1j * facula.eye(n)
        values, vectors = L.eigh(given, UPLO="U")
        assert_near(vectors @ (values.unsqueeze(-1) * vectors.mH), a)
    with pytest.raises(RuntimeError, match="expected UPLO 'L' or 'U', got 'X'"):
        L.eigh(a, "X")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_eigenvectors_are_multiplied_by_the_matrix_with_their_values(n, dtype):
    a = random(dtype, 2, n, n)
    values, vectors = L.eig(a)
    assert vectors.is_complex()
    assert_near(a.to(vectors.dtype) @ vectors, vectors * values.unsqueeze(-2))
    assert_near(vectors.abs().square().sum(-2), np.ones((2, n), values.real.numpy().dtype))
    assert_near(L.eigvals(a).real.sum(-1), a.diagonal(0, -2, -1).sum(-1).real)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(3, 3), (2, 5, 3), (2, 3, 5), (60, 40), (40, 60), (150, 150), (140, 200)]
)
def test_singular_vectors_and_values_multiply_to_the_matrix(shape, dtype):
    a = random(dtype, *shape)
    m, n, k = *shape[-2:], min(shape[-2:])
    for full in (True, False):
        u, s, vh = L.svd(a, full_matrices=full)
        assert_near(s, np.linalg.svd(a.numpy(), compute_uv=False))
        assert_near((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], a)
        size_u, size_v = (m, n) if full else (k, k)
        assert_near(u.mH @ u, facula.eye(size_u).to(a.dtype).expand(*shape[:-2], size_u, size_u))
        assert_near(vh @ vh.mH, facula.eye(size_v).to(a.dtype).expand(*shape[:-2], size_v, size_v))
    assert_near(L.svdvals(a), s)
    older = facula.svd(a)
    assert_near((older.U * s.unsqueeze(-2)) @ older.V.mH, a)
    assert facula.svd(a, compute_uv=False).V.abs().max() == 0


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_decompositions_have_derivatives(dtype):
    a = random(dtype, 2, 3, 3)

    def hermitian(x):
        values, vectors = L.eigh(x + x.mH)
        return values, vectors.abs()

    def general(x):
        values, vectors = L.eig(x)
        return values, vectors.abs()

    def singular(x):
        u, s, vh = L.svd(x, full_matrices=False)
        return u.abs(), s, vh.abs()

    check_gradients(hermitian, a)
    check_gradients(general, a[0])
    for shape in ((3, 3), (4, 2), (2, 4)):
        check_gradients(singular, random(dtype, *shape))
        check_gradients(L.svdvals, random(dtype, *shape))
    check_gradients(lambda x: L.eigvalsh(x + x.mH), a)
    check_gradients(L.eigvals, a[0])


def test_a_loss_that_depends_on_the_phase_of_vectors_has_no_derivative():
    a = random("complex128", 3, 3).requires_grad_()
    for f in (lambda x: L.eigh(x + x.mH).eigenvectors, lambda x: L.eig(x)[1], lambda x: L.svd(x).U):
        with pytest.raises(RuntimeError, match=r"up to multiplication by e\^\{i phi\}"):
            f(a).imag.sum().backward()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_determinants_are_numpys(n, dtype):
    a = random(dtype, 3, n, n) / n**0.5
    assert_near(L.det(a), np.linalg.det(a.numpy()))
    sign, logs = L.slogdet(a)
    expected = np.linalg.slogdet(a.numpy())
    assert_near(sign, expected.sign.astype(a.numpy().dtype))
    assert_near(logs, expected.logabsdet.astype(logs.numpy().dtype))
    assert_near(facula.det(a), L.det(a).numpy())
    assert_near(facula.slogdet(a).sign, sign.numpy())
    log = facula.logdet(a)
    is_negative = np.zeros(3, bool) if log.is_complex() else sign.numpy() < 0
    assert (np.isnan(log.numpy()) == is_negative).all()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_determinants_have_derivatives_at_singular_matrices_too(dtype):
    a = regular(dtype, 2, 3, 3) / 3
    check_gradients(L.det, a)
    check_gradients(lambda x: L.slogdet(x).logabsdet, a)
    if dtype == "complex128":
        check_gradients(lambda x: L.slogdet(x).sign, a)
    singular = random(dtype, 3, 3)
    singular[2] = singular[1]
    singular.requires_grad_()
    (first,) = facula.autograd.grad(L.det(singular).abs().square() + L.det(singular).real, singular)
    cofactor = np.linalg.det(np.delete(np.delete(singular.detach().numpy(), 2, 0), 0, 1))
    np.testing.assert_allclose(first[2, 0].numpy(), np.conj(cofactor), 1e-8)
    (graph,) = facula.autograd.grad(L.det(singular).real, singular, create_graph=True)
    assert_near(graph, first)


def test_the_logarithm_of_a_determinant_does_not_overflow():
    a = facula.eye(100) * 1e10
    assert L.det(a) == math.inf
    assert L.slogdet(a).logabsdet.item() == pytest.approx(1000 * math.log(10))


@pytest.mark.parametrize("p", [None, 1, -1, 2, -2, math.inf, -math.inf, "fro", "nuc"])
def test_condition_numbers_are_numpys(p):
    a = regular("float64", 2, 3, 3)
    assert_near(L.cond(a, p), np.linalg.cond(a.numpy(), p))
    assert L.cond(facula.tensor([[1.0, 0.0], [0.0, 0.0]]), p) == (0 if p == -2 else math.inf)
    assert L.cond(facula.empty(2, 0, 0), p).tolist() == [0, 0]


def test_ranks_count_what_is_not_about_zero():
    a = facula.tensor([[1.0, 0.0], [0.0, 1e-3]])
    assert L.matrix_rank(a).item() == 2
    assert L.matrix_rank(a, atol=1e-2).item() == L.matrix_rank(a, 1e-2).item() == 1
    assert L.matrix_rank(a, rtol=facula.tensor(1e-2)).item() == 1
    assert L.matrix_rank(-a, hermitian=True).item() == 2
    assert L.matrix_rank(facula.stack([a, a]), atol=facula.tensor([0.0, 1e-2])).tolist() == [2, 1]
    assert L.matrix_rank(facula.ones(3, 4, 5)).tolist() == [1, 1, 1]
    assert L.matrix_rank(facula.empty(2, 0, 3)).tolist() == [0, 0]


def test_a_driver_is_for_cuda():
    with pytest.raises(RuntimeError, match="driver is for matrices on CUDA, got 'gesvd'"):
        L.svd(facula.eye(2), driver="gesvd")
