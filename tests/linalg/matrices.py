"""Matrices to factorise, and how results are compared with NumPy's."""

import numpy as np

import facula

DTYPES = ("float32", "float64", "complex64", "complex128")
# Small ones go through loops of ours, the others through LAPACK, the largest by panels.
SIZES = (1, 3, 8, 9, 40, 150)
TOLERANCE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-10, "complex128": 1e-10}


def random(dtype, *shape, seed=0):
    """A tensor of normal numbers."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.standard_normal(shape)
    return facula.tensor(values).to(getattr(facula, dtype))


def regular(dtype, *shape, seed=0):
    """Square matrices far from singular ones."""
    n = shape[-1]
    return random(dtype, *shape, seed=seed) + 2 * n**0.5 * facula.eye(n).to(getattr(facula, dtype))


def positive(dtype, *shape, seed=0):
    """Hermitian positive-definite matrices."""
    x = random(dtype, *shape, seed=seed)
    return x @ x.mH / shape[-1] + facula.eye(shape[-1]).to(x.dtype)


def assert_near(actual, expected):
    """Equal up to the rounding of the actual tensor's dtype, relative to the largest element."""
    tolerance = TOLERANCE[str(actual.dtype).partition(".")[2]]
    if isinstance(expected, facula.Tensor):
        expected = expected.detach().resolve_conj().numpy()
    actual = actual.detach().resolve_conj().numpy()
    assert actual.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(actual, expected, 0, tolerance * scale)


def check_gradients(function, *inputs):
    """First and second derivatives agree with finite differences."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    assert facula.autograd.gradcheck(function, inputs)
    # Sums of second derivatives without one of their terms have other roundings.
    assert facula.autograd.gradgradcheck(function, inputs, check_undefined_grad=False)
