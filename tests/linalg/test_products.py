"""Products, powers and other arrangements of matrices and vectors."""

import numpy as np
import pytest
from linalg.matrices import DTYPES, assert_near, check_gradients, random, regular

import facula


def test_cross_goes_along_the_last_dimension():
    x = facula.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    expected = facula.cross(x, x.flip(0), dim=-1)
    assert facula.equal(facula.linalg.cross(x, x.flip(0)), expected)
    with pytest.raises(RuntimeError, match="cross: expected size 3 in dimension -1"):
        facula.linalg.cross(facula.ones(2, 3), facula.ones(2, 4))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [0.0, 0.1, 3.0, 40.0])
def test_the_exponential_of_a_matrix_is_that_of_its_eigenvalues(scale, dtype):
    x = random(dtype, 3, 5, 5) * scale
    a = x - x.mH  # the exponential is unitary, so that nothing overflows
    values, vectors = np.linalg.eig(a.numpy().astype("complex128"))
    expected = vectors @ (np.exp(values)[..., None] * np.linalg.inv(vectors))
    expected = expected if a.is_complex() else expected.real
    actual = facula.linalg.matrix_exp(a)
    tolerance = 1e-10 if dtype in ("float64", "complex128") else 2e-3
    np.testing.assert_allclose(actual.numpy(), expected, 0, tolerance)
    assert facula.equal(facula.matrix_exp(a), actual)
    assert facula.equal(facula.linalg.matrix_exp(a[1]), actual[1])


def test_the_exponential_has_derivatives():
    for dtype in ("float64", "complex128"):
        check_gradients(facula.linalg.matrix_exp, random(dtype, 2, 3, 3))
    assert facula.matrix_exp(facula.empty(2, 0, 0)).shape == (2, 0, 0)
    assert facula.matrix_exp(facula.tensor([[float("nan")]])).isnan().all()
    with pytest.raises(RuntimeError, match="values that are infinite"):
        facula.matrix_exp(facula.tensor([[float("inf")]]))
    with pytest.raises(RuntimeError, match="expected square matrices"):
        facula.matrix_exp(facula.ones(2, 3))


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5])
def test_powers_are_numpys_also_of_the_inverse(n):
    a = regular("complex128", 2, 3, 3)
    assert_near(facula.linalg.matrix_power(a, n), np.linalg.matrix_power(a.numpy(), n))
    assert_near(a.matrix_power(n), np.linalg.matrix_power(a.numpy(), n))
    check_gradients(lambda x: facula.linalg.matrix_power(x, n), a[0])


def test_powers_that_are_no_integers_are_refused():
    with pytest.raises(TypeError):
        facula.matrix_power(facula.eye(2), facula.tensor(0.5))


def test_multi_dot_takes_vectors_at_its_ends():
    shapes = [(4,), (4, 5), (5, 2), (2,)]
    xs = [random("float64", *shape, seed=i) for i, shape in enumerate(shapes)]
    assert_near(facula.linalg.multi_dot(xs), np.linalg.multi_dot([x.numpy() for x in xs]))
    assert facula.linalg.multi_dot(xs[1:3]).shape == (4, 2)
    for bad in (xs[:1], [xs[1], xs[0], xs[2]], [xs[1], xs[1]], [xs[1], xs[2].float()]):
        with pytest.raises(RuntimeError, match=r"^linalg.multi_dot: "):
            facula.linalg.multi_dot(bad)


def test_vander_has_the_powers_of_each_element():
    x = facula.tensor([2.0, 3.0, 5.0])
    assert facula.linalg.vander(x).tolist() == np.vander(x.numpy(), increasing=True).tolist()
    assert facula.linalg.vander(facula.tensor([[1, 2]]), N=4).tolist() == [
        [[1, 1, 1, 1], [1, 2, 4, 8]]
    ]
    with pytest.raises(RuntimeError, match="expected N > 1, got 1"):
        facula.linalg.vander(x, N=1)
    with pytest.raises(RuntimeError, match="not defined for"):
        facula.linalg.vander(x > 2)


def test_vecdot_conjugates_the_first():
    x, y = random("complex128", 2, 3), random("complex128", 3, seed=1)
    assert_near(facula.linalg.vecdot(x, y), np.linalg.vecdot(x.numpy(), y.numpy()))
    assert facula.linalg.vecdot(x, x, dim=0).shape == (3,)
    for bad in (x.real, facula.ones(3, dtype=facula.int64)):
        with pytest.raises(RuntimeError, match=r"^linalg.vecdot: expected"):
            facula.linalg.vecdot(bad, bad if not bad.is_floating_point() else y)


def test_diagonal_and_matmul_are_those_of_the_last_dimensions():
    x = random("float32", 2, 3, 4)
    assert facula.equal(facula.linalg.diagonal(x), x.diagonal(0, -2, -1))
    assert facula.equal(facula.linalg.diagonal(x, offset=1, dim1=0, dim2=1), x.diagonal(1, 0, 1))
    assert facula.equal(facula.linalg.matmul(x, x.mT), x @ x.mT)
