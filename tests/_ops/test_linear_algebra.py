"""Factorisations under PyTorch's older names."""

import pytest
from linalg.matrices import (
    DTYPES,
    assert_near,
    check_gradients,
    positive,
    random,
    regular,
)

import facula

L = facula.linalg


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("n", [3, 20])
def test_cholesky_factors_solve_and_invert(n, upper, dtype):
    a, b = positive(dtype, 2, n, n), random(dtype, 2, n, 3, seed=1)
    factor = facula.cholesky(a, upper)
    assert_near(factor, L.cholesky(a, upper=upper))
    assert_near(facula.cholesky_solve(b, factor, upper), L.solve(a, b))
    assert_near(facula.cholesky_inverse(factor, upper), L.inv(a))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_solutions_have_derivatives(upper, dtype):
    factor = facula.cholesky(positive(dtype, 3, 3), upper)
    b = random(dtype, 2, 3, 2, seed=1)
    triangle = facula.triu if upper else facula.tril
    check_gradients(lambda x, y: facula.cholesky_solve(x, triangle(y), upper), b, factor)
    check_gradients(lambda x: facula.cholesky_inverse(triangle(x), upper), factor)


@pytest.mark.parametrize("dtype", DTYPES)
def test_older_names_agree_with_those_of_linalg(dtype):
    a, b = regular(dtype, 2, 3, 3), random(dtype, 2, 3, 2, seed=1)
    assert facula.equal(facula.inverse(a), L.inv(a))
    assert facula.equal(a.det(), L.det(a))
    assert facula.equal(a.logdet().real, L.slogdet(a).logabsdet)
    for older, newer in zip(facula.qr(a, some=False), L.qr(a, "complete"), strict=True):
        assert facula.equal(older, newer)
    factors, pivots, infos = facula.lu(a, get_infos=True)
    assert infos.tolist() == [0, 0]
    assert facula.equal(facula.lu_solve(b, factors, pivots), L.lu_solve(factors, pivots, b))
    solution, copy = facula.triangular_solve(b, a, upper=False)
    assert facula.equal(copy, a)
    assert_near(solution, L.solve_triangular(a, b, upper=False))
    turned = b.triangular_solve(a, transpose=True, unitriangular=True).solution
    unit = a.triu(1) + facula.eye(3).to(a.dtype)
    assert_near(unit.mT @ turned, b)


def test_triangular_solve_has_derivatives_of_both_results():
    for dtype in ("float64", "complex128"):
        a, b = regular(dtype, 3, 3), random(dtype, 2, 3, 2, seed=1)
        for upper, transpose in ((True, False), (False, True)):
            check_gradients(
                lambda x, y, u=upper, t=transpose: facula.triangular_solve(x, y, u, t), b, a
            )


def test_lu_gives_pairs_or_three_and_no_error_for_singular_matrices():
    singular = facula.ones(2, 2)
    assert len(facula.lu(singular)) == 2
    result = facula.lu(singular, get_infos=True)
    assert result.info.item() == 2
    with pytest.raises(TypeError, match="expected 2 tensors as out"):
        facula.lu(singular, out=(facula.empty(0),))
    out = facula.empty(0), facula.empty(0, dtype=facula.int32)
    assert facula.lu(singular, out=out)[0] is out[0]


def test_lu_unpack_leaves_out_what_is_not_wanted():
    factors, pivots = L.lu_factor(regular("float32", 3, 3))
    p, lower, upper = facula.lu_unpack(factors, pivots, unpack_data=False)
    assert (p.shape, lower.shape, upper.shape) == ((3, 3), (0,), (0,))
    assert facula.lu_unpack(factors, pivots, unpack_pivots=False).P.shape == (0,)
    with pytest.raises(RuntimeError, match="expected pivots of dtype int32"):
        facula.lu_unpack(factors, pivots.long())


def test_geqrf_has_no_derivative():
    with pytest.raises(NotImplementedError, match=r"Use linalg\.qr"):
        facula.geqrf(facula.eye(2).requires_grad_()).a.sum().backward()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (2, 20, 20)])
def test_matrices_of_low_rank_are_found_by_random_projection(shape, dtype):
    facula.manual_seed(0)
    *batch, m, n = shape
    a = random(dtype, *batch, m, 3) @ random(dtype, *batch, 3, n, seed=1)
    u, s, v = facula.svd_lowrank(a, q=4)
    assert_near((u * s.unsqueeze(-2)) @ v.mH, a)
    mean = a.mean(-2, keepdim=True)
    for u, s, v in (facula.pca_lowrank(a, q=4), facula.svd_lowrank(a, 4, M=mean)):
        assert_near((u * s.unsqueeze(-2)) @ v.mH, a - mean)
    with pytest.raises(ValueError, match=r"expected q from 0 to 12|expected q from 0 to 20"):
        facula.pca_lowrank(a, q=100)
    with pytest.raises(ValueError, match="expected niter >= 0"):
        facula.pca_lowrank(a, niter=-1)
    for f in (facula.pca_lowrank, facula.svd_lowrank):
        with pytest.raises(ValueError, match="at least 2 dimensions"):
            f(facula.ones(3))


def test_lu_unpack_moves_elements_of_any_dtype():
    data, pivots = facula.tensor([[5, 6], [7, 8]]), facula.tensor([2, 2], dtype=facula.int32)
    p, lower, upper = facula.lu_unpack(data, pivots)
    assert p.tolist() == [[0, 1], [1, 0]]
    assert lower.tolist() == [[1, 0], [7, 1]]
    assert upper.tolist() == [[5, 6], [0, 8]]
    assert facula.lu_unpack(data.half(), pivots)[1].dtype == facula.float16
