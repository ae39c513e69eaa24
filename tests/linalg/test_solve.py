"""Solutions of linear equations, and inverses."""

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
def test_solutions_and_inverses_fit(n, dtype):
    a, b = regular(dtype, 2, n, n), random(dtype, 2, n, 70, seed=1)
    assert_near(L.solve(a, b), np.linalg.solve(a.numpy(), b.numpy()))
    assert_near(L.solve(a, b.mT, left=False) @ a, b.mT)
    assert_near(L.inv(a), np.linalg.inv(a.numpy()))
    lu, pivots = L.lu_factor(a)
    for adjoint in (False, True):
        op = a.mH if adjoint else a
        assert_near(op @ L.lu_solve(lu, pivots, b, adjoint=adjoint), b)
        assert_near(L.lu_solve(lu, pivots, b.mT, left=False, adjoint=adjoint) @ op, b.mT)
    for upper in (False, True):
        triangle = a.triu() if upper else a.tril()
        assert_near(triangle @ L.solve_triangular(a, b, upper=upper), b)
        assert_near(L.solve_triangular(a, b.mT, upper=upper, left=False) @ triangle, b.mT)


@pytest.mark.parametrize("shapes", [((3, 3), (3,)), ((2, 3, 3), (2, 3)), ((2, 1, 3, 3), (4, 3, 2))])
def test_right_sides_may_be_vectors_and_are_broadcast(shapes):
    a, b = regular("float64", *shapes[0]), random("float64", *shapes[1])
    is_vector = len(shapes[1]) == len(shapes[0]) - 1 and shapes[0][:-1] == shapes[1]
    expected = np.linalg.inv(a.numpy()) @ (b.unsqueeze(-1) if is_vector else b).numpy()
    assert_near(L.solve(a, b), expected[..., 0] if is_vector else expected)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_solutions_have_derivatives(dtype):
    a, b = regular(dtype, 2, 3, 3), random(dtype, 3, 2, seed=1)
    vector = random(dtype, 3, seed=2)
    check_gradients(L.solve, a, b)
    check_gradients(L.solve, a[0], vector)
    check_gradients(lambda x, y: L.solve(x, y, left=False), a[0], b.mT)
    check_gradients(L.inv, a)
    lu, pivots = L.lu_factor(a)
    for left in (True, False):
        for adjoint in (True, False):
            check_gradients(
                lambda x, y, left=left, adjoint=adjoint: L.lu_solve(
                    x, pivots, y, left=left, adjoint=adjoint
                ),
                lu,
                b if left else b.mT,
            )
    for upper in (True, False):
        check_gradients(lambda x, y, u=upper: L.solve_triangular(x, y, upper=u), a, b)
        check_gradients(
            lambda x, y, u=upper: L.solve_triangular(x, y, upper=u, left=False, unitriangular=True),
            a,
            b.mT,
        )


def test_singular_matrices_raise_or_are_told_of():
    for n in (2, 20, 150):
        a = facula.eye(n)
        a[1, 1] = 0
        with pytest.raises(L.LinAlgError, match=r"solve: The solver failed because .* singular"):
            L.solve(a, facula.ones(n))
        with pytest.raises(L.LinAlgError, match="diagonal element 2 is zero"):
            L.inv(facula.stack([a, a]))
        assert L.solve_ex(a, facula.ones(n)).info.item() == 2
        assert L.inv_ex(a).info.item() == 2


def test_shapes_that_do_not_fit_are_refused():
    a, b = facula.eye(3), facula.ones(2, 2)
    for f in (
        lambda: L.solve(a, b),
        lambda: L.solve(facula.ones(2, 3), b),
        lambda: L.solve(a, facula.ones(3), left=False),
        lambda: L.solve(facula.ones(2, 3, 3), facula.ones(4, 3, 1)),
        lambda: L.solve_triangular(a, b, upper=True),
        lambda: L.solve(a, b.double()),
        lambda: L.inv(facula.ones(2, 3)),
        lambda: L.lstsq(a, b),
        lambda: L.lstsq(a, facula.ones(3, 1), driver="gel"),
        lambda: L.tensorinv(facula.ones(2, 3), 1),
        lambda: L.tensorinv(facula.ones(2, 2), 0),
        lambda: L.tensorsolve(facula.ones(2, 3), facula.ones(2)),
        lambda: facula.cholesky_solve(b, a),
        lambda: L.householder_product(facula.ones(2, 3), facula.ones(2)),
        lambda: facula.ormqr(a, facula.ones(3), facula.ones(4, 2)),
        lambda: facula.lu_unpack(a, facula.ones(2, dtype=facula.int32)),
    ):
        with pytest.raises(RuntimeError, match=r"^[a-z_.]+: .*got"):
            f()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss", None])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_least_squares_are_numpys(shape, driver, dtype):
    a, b = random(dtype, *shape), random(dtype, shape[0], 2, seed=1)
    expected, residuals, rank, values = np.linalg.lstsq(a.numpy(), b.numpy())
    result = L.lstsq(a, b, driver=driver)
    assert_near(result.solution, expected)
    assert_near(L.lstsq(facula.stack([a, a]), b, driver=driver).solution[1], expected)
    if driver in ("gelsd", "gelss"):
        assert_near(result.singular_values, values)
        assert_near(result.residuals, residuals.astype(values.dtype))
    if driver != "gels":
        assert result.rank.item() == rank
    assert_near(L.lstsq(a, b[:, 0], driver=driver).solution, expected[:, 0])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_least_squares_have_derivatives(dtype):
    for shape in ((5, 3), (2, 3)):
        a, b = random(dtype, *shape), random(dtype, shape[0], 2, seed=1)
        check_gradients(lambda x, y: L.lstsq(x, y, driver="gels").solution, a, b)
    a, b = random(dtype, 5, 3), random(dtype, 5, 2, seed=1)
    check_gradients(lambda x, y: L.lstsq(x, y, driver="gelsd").residuals, a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pseudoinverses_are_numpys(dtype):
    a = random(dtype, 2, 5, 3)
    a[1, :, 2] = a[1, :, 1]
    assert_near(L.pinv(a), np.linalg.pinv(a.numpy(), rcond=1e-5))
    s = a @ a.mH
    assert_near(L.pinv(s, hermitian=True, rtol=1e-4), np.linalg.pinv(s.numpy(), rcond=1e-4))
    assert L.pinv(a, atol=1e6).abs().max() == 0
    assert_near(facula.pinverse(a, 1e-5), L.pinv(a, rtol=1e-5))
    limits = facula.tensor([0.0, 1e6])
    assert facula.equal(L.pinv(a, atol=limits)[0], L.pinv(a[0], atol=0.0))
    with pytest.raises(RuntimeError, match="expected a real tolerance"):
        L.pinv(a, rtol=facula.tensor(1j))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_pseudoinverses_have_derivatives(dtype):
    a = random(dtype, 4, 3)
    check_gradients(L.pinv, a)
    check_gradients(lambda x: L.pinv(x @ x.mH, rtol=1e-8, hermitian=True), random(dtype, 3, 2))


def test_tensors_are_inverted_and_solved_for():
    a = regular("float64", 12, 12).reshape(3, 4, 2, 6)
    inverse = L.tensorinv(a)
    assert_near(inverse, np.linalg.tensorinv(a.numpy()))
    b = random("float64", 3, 4)
    assert_near(L.tensorsolve(a, b), np.linalg.tensorsolve(a.numpy(), b.numpy()))
    moved = a.permute(2, 0, 1, 3)
    assert_near(L.tensorsolve(moved, b, dims=(0, 3)), L.tensorsolve(a, b))


@pytest.mark.parametrize("n", [1, 5, 70])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_a_triangle_by_rows_is_solved_as_one_by_columns(n, dtype, upper, left):
    rng = np.random.default_rng(n)
    a = rng.uniform(-1, 1, (2, n, n)) / n + np.eye(n)
    if dtype.startswith("complex"):
        a = a + 1j * rng.uniform(-1, 1, (2, n, n)) / n
    triangle = np.triu(a) if upper else np.tril(a)
    b = rng.uniform(-1, 1, (2, n, 3) if left else (2, 3, n))
    rows = facula.tensor(a).to(getattr(facula, dtype))
    columns = rows.mT.contiguous().mT
    given = facula.tensor(b).to(rows.dtype)
    inverse = np.linalg.inv(triangle)
    expected = inverse @ b if left else b @ inverse
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-10
    for matrix in (rows, columns, rows[:, ::1, :], rows.expand(2, n, n)):
        x = facula.linalg.solve_triangular(matrix, given, upper=upper, left=left)
        assert np.allclose(x.numpy(), expected, atol=tolerance)
    if left:
        hermitian = (
            triangle.conj().swapaxes(1, 2) @ triangle
            if upper
            else triangle @ triangle.conj().swapaxes(1, 2)
        )
        for matrix in (rows, columns):
            assert np.allclose(
                facula.cholesky_solve(given, matrix, upper).numpy(),
                np.linalg.inv(hermitian) @ b,
                atol=tolerance,
            )


@pytest.mark.parametrize("n", [9, 12, 47, 200])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_right_sides_are_solved_for_like_many(n, dtype):
    a, b = regular(dtype, 2, n, n), random(dtype, 2, n, 6, seed=1)
    for upper in (False, True):
        for unit in (False, True):
            triangle = a.triu() if upper else a.tril()
            if unit:
                triangle = triangle / n
                triangle.diagonal(dim1=1, dim2=2).fill_(1)
            for matrix in (triangle, triangle.mT.contiguous().mT):
                many = L.solve_triangular(matrix, b, upper=upper, unitriangular=unit)
                assert_near(triangle @ many, b)
                first = L.solve_triangular(matrix, b[..., :1], upper=upper, unitriangular=unit)
                for sides in range(1, 6):
                    x = L.solve_triangular(matrix, b[..., :sides], upper=upper, unitriangular=unit)
                    assert_near(x, many[..., :sides])
                    assert sides > 4 or facula.equal(x[..., :1], first)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 7, 64, 65, 150])
def test_inverses_from_cholesky_factors_are_hermitian(n, dtype):
    a = positive(dtype, 2, n, n)
    lower = L.cholesky(a)
    for factor, upper in ((lower, False), (lower.mH, True)):
        inverse = facula.cholesky_inverse(factor, upper)
        assert_near(inverse @ a, facula.eye(n, dtype=a.dtype).expand(2, n, n))
        assert facula.equal(inverse.tril(-1), inverse.triu(1).mH)
        assert facula.equal(facula.cholesky_inverse(factor[1], upper), inverse[1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(40, 30), (30, 30), (30, 40), (150, 140)])
def test_least_squares_find_the_rank_and_the_shortest_solution(shape, dtype):
    k = min(shape)
    u, s, vh = L.svd(random(dtype, *shape), full_matrices=False)
    for smallest, rank in ((1e-2, k), (0.0, k - 1)):
        values = facula.linspace(1, 0.5, k, dtype=s.dtype)
        values[-1] = smallest
        a = (u * values) @ vh
        for n_sides in (2, 12):
            b = random(dtype, shape[0], n_sides, seed=2)
            result = L.lstsq(a, b, rcond=1e-5)
            assert result.rank.item() == rank
            assert L.lstsq(a, b, rcond=0.1).rank.item() == k - 1
            inverse = (values[:rank].reciprocal() * vh[:rank].mH) @ u[:, :rank].mH
            assert_near(result.solution / 100, inverse @ b / 100)
