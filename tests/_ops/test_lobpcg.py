"""A few eigenvalues of a large matrix."""

import numpy as np
import pytest
from linalg.matrices import DTYPES, positive, random

import facula


def near(actual, expected):
    np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), 0, 2e-3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("largest", [True, False])
def test_the_extreme_eigenvalues_are_found(dtype, largest):
    facula.manual_seed(0)
    a = positive(dtype, 2, 20, 20)
    values, vectors = facula.lobpcg(a, k=3, largest=largest, tol=1e-5)
    expected = facula.linalg.eigvalsh(a)
    near(values, expected[:, -3:].flip(-1) if largest else expected[:, :3])
    near(a @ vectors, vectors * values.unsqueeze(-2))
    near(vectors.mH @ vectors, facula.eye(3).to(a.dtype).expand(2, 3, 3))


def test_a_second_matrix_and_a_preconditioner_are_taken_into_account():
    facula.manual_seed(0)
    a, b = positive("float64", 15, 15), positive("float64", 15, 15, seed=1)
    values, x = facula.lobpcg(a, B=b, k=2, iK=facula.linalg.inv(a), largest=False)
    near(a @ x, b @ x * values)
    near(x.mT @ b @ x, facula.eye(2, dtype=a.dtype))
    near(values, facula.linalg.eigvals(facula.linalg.solve(b, a)).real.sort().values[:2])


def test_eigenvalues_and_vectors_have_a_derivative():
    facula.manual_seed(0)
    a = positive("float64", 9, 9)
    weight = random("float64", 9, 2, seed=2)

    def loss(x, solve):
        values, vectors = solve((x + x.mT) / 2)
        return values.sum() + (vectors.abs() * weight).sum()

    x = a.detach().requires_grad_()
    (grad,) = facula.autograd.grad(loss(x, lambda y: facula.lobpcg(y, k=2, tol=1e-12)), x)
    exact = a.detach().requires_grad_()
    top = lambda y: [part[..., -2:].flip(-1) for part in facula.linalg.eigh(y)]  # noqa: E731
    (expected,) = facula.autograd.grad(loss(exact, top), exact)
    np.testing.assert_allclose(grad.numpy(), expected.numpy(), 1e-6, 1e-6)


def test_iterations_are_counted_and_told_of():
    facula.manual_seed(0)
    steps = []
    facula.lobpcg(
        positive("float32", 20, 20),
        k=1,
        niter=2,
        tol=0.0,
        tracker=lambda state: steps.append(state.ivars["istep"]),
    )
    assert steps == [0, 1, 2]


def test_small_matrices_are_refused():
    with pytest.raises(ValueError, match=r"got 5 rows, 2 vectors and k=2. Use linalg.eigh"):
        facula.lobpcg(facula.eye(5), k=2)
    with pytest.raises(RuntimeError, match="expected square matrices"):
        facula.lobpcg(facula.ones(5, 4))
    with pytest.raises(RuntimeError, match="derivative is defined for B=None only"):
        facula.lobpcg(facula.eye(6).requires_grad_(), B=facula.eye(6))
