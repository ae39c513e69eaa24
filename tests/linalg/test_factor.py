"""Factorisations."""

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
from check_op import check_threads

L = facula.linalg


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_cholesky_factors_of_both_kinds_multiply_to_the_matrix(n, dtype):
    a = positive(dtype, 2, n, n)
    lower, upper = L.cholesky(a), L.cholesky(a, upper=True)
    assert_near(lower, np.linalg.cholesky(a.numpy()))
    assert_near(upper, lower.mH)
    assert_near(lower @ lower.mH, a)
    assert lower.stride() == (n * n, 1, n)


def test_cholesky_reads_one_triangle():
    a = positive("float64", 5, 5)
    broken = a.tril() + facula.full((5, 5), float("nan"), dtype=a.dtype).triu(1)
    assert facula.equal(L.cholesky(broken), L.cholesky(a))
    assert_near(L.cholesky(broken.mT, upper=True), L.cholesky(a, upper=True))


def test_cholesky_tells_which_minor_is_not_positive():
    a = facula.eye(12)
    a[6, 6] = -1
    with pytest.raises(L.LinAlgError, match="leading minor of order 7 is not positive-definite"):
        L.cholesky(a)
    with pytest.raises(L.LinAlgError, match=r"Batch element 1.*order 7"):
        L.cholesky(facula.stack([facula.eye(12), a]))
    assert L.cholesky_ex(facula.stack([facula.eye(12), a])).info.tolist() == [0, 7]
    with pytest.raises(L.LinAlgError):
        L.cholesky_ex(a, check_errors=True)
    large = facula.eye(200)
    large[150, 150] = 0
    assert L.cholesky_ex(large).info.item() == 151
    assert issubclass(L.LinAlgError, RuntimeError)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_has_derivatives(dtype, upper):
    a = random(dtype, 2, 3, 3)
    eye = 4 * facula.eye(3).to(a.dtype)
    check_gradients(lambda x: L.cholesky(x @ x.mH + eye, upper=upper), a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 7), (7, 3), (150, 140), (140, 150), (300, 300)])
def test_lu_multiplies_to_the_matrix(shape, dtype):
    a = random(dtype, *shape)
    p, l, u = L.lu(a)  # noqa: E741
    assert_near(p @ l @ u, a)
    assert facula.equal(l.tril(), l)
    assert facula.equal(u.triu(), u)
    assert l.abs().max() <= (1.0001 if a.dtype.is_floating_point else 1.4143)  # pivots are largest
    factors, pivots, info = L.lu_factor_ex(a)
    assert info.tolist() == np.zeros(shape[:-2], int).tolist()
    for part, expected in zip(facula.lu_unpack(factors, pivots), (p, l, u), strict=True):
        assert facula.equal(part, expected)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 4), (4, 2)])
def test_lu_has_derivatives(dtype, shape):
    a = random(dtype, *shape)
    check_gradients(lambda x: L.lu(x)[1:], a)
    check_gradients(lambda x: L.lu_factor(x).LU, a)
    check_gradients(lambda x: facula.lu_unpack(x, L.lu_factor(a).pivots)[1:], L.lu_factor(a).LU)


def test_lu_of_singular_matrices_says_so():
    for n in (3, 20, 200):
        a = facula.eye(n)
        a[1, 1] = 0
        assert L.lu_factor_ex(a).info.item() == 2
        with pytest.raises(RuntimeError, match=r"U\[2,2\] is zero"):
            L.lu_factor(a)
    with pytest.raises(RuntimeError, match="without pivoting is not implemented on the CPU"):
        L.lu(facula.eye(2), pivot=False)


def test_pivots_out_of_range_are_refused():
    data, wrong = facula.eye(3), facula.tensor([1, 2, 4], dtype=facula.int32)
    for call in (
        lambda: facula.lu_unpack(data, wrong),
        lambda: L.lu_solve(data, wrong, facula.ones(3, 1)),
        lambda: L.lu_solve(data, wrong - 4, facula.ones(3, 1)),
        lambda: L.ldl_solve(data, wrong, facula.ones(3, 1)),
        lambda: L.ldl_solve(data, facula.tensor([1, 2, -3]).int(), facula.ones(3, 1)),
    ):
        with pytest.raises(RuntimeError, match="expected pivots"):
            call()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 5, 40])
@pytest.mark.parametrize("hermitian", [False, True])
def test_ldl_solves_indefinite_systems(n, dtype, hermitian):
    x, b = random(dtype, 3, n, n), random(dtype, 3, n, 2, seed=1)
    a = x + (x.mH if hermitian else x.mT) + 3 * facula.eye(n).to(x.dtype)
    ld, pivots = L.ldl_factor(a, hermitian=hermitian)
    assert_near(a @ L.ldl_solve(ld, pivots, b, hermitian=hermitian), b)
    assert L.ldl_factor_ex(a, hermitian=hermitian).info.tolist() == [0, 0, 0]


def test_ldl_has_no_derivative():
    a = positive("float32", 3, 3).requires_grad_()
    with pytest.raises(NotImplementedError, match=r"ldl_factor: the derivative is not implemented"):
        L.ldl_factor(a).LD.sum().backward()


@pytest.mark.parametrize("dtype", DTYPES)
# The last ones are cut into blocks of reflectors.
@pytest.mark.parametrize(
    "shape",
    [
        (3, 3),
        (2, 5, 3),
        (2, 3, 5),
        (17, 33),
        (60, 40),
        (64, 64),
        (2, 65, 65),
        (130, 97),
        (70, 200),
        (200, 96),
    ],
)
def test_qr_multiplies_to_the_matrix(shape, dtype):
    a = random(dtype, *shape)
    m, k = shape[-2], min(shape[-2:])
    for mode, size in (("reduced", k), ("complete", m)):
        q, r = L.qr(a, mode)
        assert q.shape[-2:] == (m, size)
        assert_near(q @ r, a)
        assert_near(q.mH @ q, facula.eye(size).to(a.dtype).expand(*shape[:-2], size, size))
        assert facula.equal(r.triu(), r)
    q, only = L.qr(a, "r")
    assert q.shape == (0,)
    assert facula.equal(only, L.qr(a).R)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", [6, 33])
def test_qr_takes_columns_of_any_size(m, dtype):
    a = random(dtype, m, 6)
    limits = facula.finfo(a.dtype)
    # The squares of some vanish, those of others overflow.
    sizes = [1, 0, limits.tiny, limits.max / 64, limits.tiny * 2e-5, limits.eps**4]
    a = a * facula.tensor(sizes, dtype=a.real.dtype)
    q, r = L.qr(a)
    assert_near(q.mH @ q, facula.eye(6).to(a.dtype))
    for column, expected, size in zip((q @ r).mT, a.mT, sizes, strict=True):
        if size >= limits.tiny:
            assert_near(column / size, expected / size)
    assert L.qr(a * math.nan).R.isnan().any()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 2, 3)])
def test_qr_has_derivatives(dtype, shape):
    check_gradients(L.qr, random(dtype, *shape))


def test_qr_without_q_or_with_more_of_it_has_no_derivative():
    a = random("float64", 4, 2).requires_grad_()
    with pytest.raises(RuntimeError, match="not computed when mode='r'"):
        L.qr(a, "r").R.sum().backward()
    with pytest.raises(RuntimeError, match="mode='complete' and A has more rows"):
        L.qr(a, "complete").Q.sum().backward()
    with pytest.raises(RuntimeError, match="expected mode 'reduced', 'complete' or 'r', got 'q'"):
        L.qr(a, "q")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_vectors", [1, 8, 9, 40])
def test_q_multiplies_few_vectors_and_many(n_vectors, dtype):
    a, c = random(dtype, 90, 70), random(dtype, 90, n_vectors, seed=1)
    reflectors, tau = facula.geqrf(a)
    q = L.qr(a, "complete").Q
    for transpose, op in ((False, q), (True, q.mH)):
        assert_near(facula.ormqr(reflectors, tau, c, True, transpose), op @ c)
        assert_near(facula.ormqr(reflectors, tau, c.mH, False, transpose), c.mH @ op)


@pytest.mark.parametrize("dtype", DTYPES)
def test_householder_products_give_q(dtype):
    a = random(dtype, 2, 5, 3)
    reflectors, tau = facula.geqrf(a)
    q = L.householder_product(reflectors, tau)
    assert_near(q, L.qr(a).Q)
    assert_near(facula.orgqr(reflectors, tau), q)
    full = L.qr(a, "complete").Q
    for left in (True, False):
        for transpose in (True, False):
            c = random(dtype, 2, *((5, 4) if left else (4, 5)), seed=1)
            op = full.mH if transpose else full
            expected = op @ c if left else c @ op
            assert_near(facula.ormqr(reflectors, tau, c, left, transpose), expected)
            wanted = c.clone().requires_grad_()
            graph = facula.ormqr(reflectors, tau, wanted, left, transpose)
            assert_near(graph, expected)
            assert graph.requires_grad


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_householder_products_have_derivatives(dtype):
    reflectors, tau = facula.geqrf(random(dtype, 4, 3))
    check_gradients(L.householder_product, reflectors, tau)
    c = random(dtype, 4, 2, seed=1)
    check_gradients(lambda a, t, x: facula.ormqr(a, t, x, True, True), reflectors, tau, c)


def test_bits_do_not_depend_on_the_threads():
    a, b, s = random("float32", 300, 300), random("float32", 300, 90), positive("float32", 300, 300)
    check_threads(
        lambda: L.cholesky(s),
        lambda: L.lu_factor(a).LU,
        lambda: L.solve(a, b),
        lambda: L.inv(a),
        lambda: L.eigh(s).eigenvectors,
        lambda: L.svd(a).Vh,
        lambda: L.qr(a).Q,
    )


def test_a_matrix_of_a_batch_has_the_bits_it_has_alone():
    for n in (5, 30, 150):
        a = regular("float32", 4, n, n)
        for f in (L.inv, L.svdvals, L.eigvalsh, L.det, lambda x: L.qr(x).Q):
            assert facula.equal(f(a)[2], f(a[2]))


@pytest.mark.parametrize(
    "f",
    [L.cholesky, L.inv, L.qr, L.svd, L.eigh, L.eig, L.lu, L.det, L.slogdet, L.pinv, L.ldl_factor],
)
def test_what_is_no_matrix_of_floating_point_is_refused(f):
    for bad in (facula.ones(3), facula.ones((), dtype=facula.float64)):
        with pytest.raises(RuntimeError, match="at least 2 dimensions"):
            f(bad)
    with pytest.raises(RuntimeError, match="expected a floating point or complex tensor"):
        f(facula.ones(2, 2, dtype=facula.int64))
    with pytest.raises(NotImplementedError, match="low precision dtypes are not supported"):
        f(facula.ones(2, 2, dtype=facula.float16))


@pytest.mark.parametrize("shape", [(0, 0), (3, 0, 0), (0, 3, 3), (2, 0, 3), (2, 3, 0)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_empty_matrices_pass_through(shape, dtype):
    a = facula.empty(*shape, dtype=getattr(facula, dtype))
    assert [x.shape[:-2] for x in L.qr(a)] == [a.shape[:-2]] * 2
    u, s, _ = L.svd(a)
    assert_near(u @ u.mH, facula.eye(shape[-2]).to(a.dtype).expand_as(u))
    assert s.shape == (*shape[:-2], min(shape[-2:]))
    assert L.pinv(a).shape == a.mT.shape
    assert L.lu_factor(a).LU.shape == a.shape
    if shape[-1] == shape[-2]:
        assert L.cholesky(a).shape == L.inv(a).shape == L.eigh(a).eigenvectors.shape == a.shape
        assert L.eigvals(a).shape == a.shape[:-1]
        assert L.solve(a, a).shape == L.ldl_factor(a).LD.shape == a.shape
        if a.numel() == 0 and shape[-1] == 0:
            assert L.det(a).tolist() == facula.ones(shape[:-2], dtype=a.dtype).tolist()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_not_finite_raise_or_pass_and_never_hang(value):
    for n in (4, 20, 140):
        a = facula.eye(n)
        a[1, 2] = a[2, 1] = value
        for f in (L.svd, L.eigh, L.svdvals, L.eigvalsh, L.pinv):
            with pytest.raises(L.LinAlgError, match="infinite or NaN"):
                f(a)
        with pytest.raises(RuntimeError, match="infs or NaNs"):
            L.eig(a)
        with pytest.raises(L.LinAlgError, match="infinite or NaN"):
            L.lstsq(a, a)
        L.lu_factor_ex(a), L.inv_ex(a), L.cholesky_ex(a), L.det(a), L.qr(a), L.ldl_factor_ex(a)


def test_results_are_stored_in_out_with_strides_of_columns():
    a = random("float32", 4, 3)
    q, r = facula.empty(0), facula.empty(0)
    result = L.qr(a, out=(q, r))
    assert result.Q is q
    assert q.stride() == (1, 4)
    assert facula.equal(r, L.qr(a).R)
    for bad in (q, (q,)):
        with pytest.raises(TypeError, match=r"qr: expected a .* of .*tensors.* as out"):
            L.qr(a, out=bad)
    wide, own = facula.empty(4, 3, dtype=facula.float64), facula.zeros(4, 3)
    with pytest.raises(RuntimeError, match="qr: expected out to have dtype float32, got float64"):
        L.qr(a, out=(wide, facula.empty(3, 3)))
    with pytest.raises(RuntimeError, match="cannot be stored in out"):
        L.qr(a, out=(own, facula.empty(3, 3, dtype=facula.int64)))
    assert not own.any()  # all are checked before one is written to
    with pytest.raises(RuntimeError, match="takes no part in differentiation"):
        L.qr(a.requires_grad_(), out=(q, r))
