"""Complex numbers from their parts, their signs, and the angles of real numbers."""

import numpy as np
import pytest

import facula

SIZES = [1, 7, 64, 200, 70000]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parts_of_any_layout_make_complex_numbers(dtype, size):
    a = np.arange(2 * size).astype(dtype).reshape(2, size)
    b = -a[:, ::-1]
    x, y = facula.tensor(a), facula.tensor(b.copy())
    np.testing.assert_array_equal(facula.complex(x, y).numpy(), a + 1j * b)
    np.testing.assert_array_equal(facula.complex(x.t(), y.t()).numpy(), (a + 1j * b).T)
    wide = facula.stack([x, x], 2)[..., 0]
    np.testing.assert_array_equal(facula.complex(wide, y[0]).numpy(), a + 1j * b[0])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_signs_of_complex_numbers_change_bit_by_bit(dtype, size):
    a = np.arange(size).astype(dtype) - 1j * (np.arange(size) % 3)
    a[0] = complex(0.0, -0.0)
    for x in (facula.tensor(a), facula.stack([facula.tensor(a)] * 2, 1)[:, 0]):
        for found, expected in ((-x, -a), (facula.conj_physical(x), a.conj())):
            np.testing.assert_array_equal(found.numpy(), expected)
            assert np.signbit(found.numpy().real[0]) == np.signbit(expected.real[0])
            assert np.signbit(found.numpy().imag[0]) == np.signbit(expected.imag[0])


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "bfloat16", "float32", "float64"])
def test_angles_of_real_numbers(dtype):
    x = facula.tensor([0, 1, -1, 2, -3] * 9).to(getattr(facula, dtype))
    found = facula.angle(x)
    assert found.dtype == (x.dtype if x.is_floating_point() else facula.float32)
    half_turn = facula.tensor(np.pi, dtype=found.dtype)
    assert facula.equal(found, facula.where(x.to(found.dtype) < 0, half_turn, 0))
    special = facula.tensor([float("nan"), -0.0, -float("inf")])
    assert facula.angle(special)[0].isnan() and facula.angle(special)[1:].tolist() == [
        0,
        facula.tensor(np.pi).item(),
    ]


EDGES = [0.0, -0.0, 1.0, -1.5, 3.0, 85.0, 88.9, -90.0, -104.0, 700.0, 1e5, np.inf, -np.inf, np.nan]


def _cexp(z):
    """C's exponential in double precision."""
    with np.errstate(all="ignore"):
        return np.exp(z.astype(np.complex128))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_exponentials_of_special_complex_numbers_are_those_of_c(dtype):
    a, b = (part.ravel() for part in np.meshgrid(EDGES, EDGES))
    z = np.empty(a.size, dtype)
    z.real, z.imag = a, b
    with np.errstate(all="ignore"):
        expected = np.exp(z)
    for x in (facula.tensor(z), facula.tensor(np.repeat(z, 2))[::2]):
        got = facula.exp(x).numpy()
        for part, right in ((got.real, expected.real), (got.imag, expected.imag)):
            # The sign of an infinity whose angle is not known is not, either.
            known = np.isfinite(b) & ~np.isnan(a)
            np.testing.assert_allclose(
                part[known], right[known], rtol=4 * np.finfo(dtype).eps, atol=1e-44
            )


@pytest.mark.parametrize("name", ["exp", "sigmoid", "silu"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [0, 1, 3, 8, 17, 700])
def test_functions_of_complex_vectors_agree_with_numpy(name, dtype, n):
    rng = np.random.default_rng(0)
    z = (rng.standard_normal(n) * 4 + 4j * rng.standard_normal(n)).astype(dtype)
    function = facula.nn.functional.silu if name == "silu" else getattr(facula, name)
    formulas = {
        "exp": _cexp,
        "sigmoid": lambda z: 1 / (1 + _cexp(-z)),
        "silu": lambda z: z / (1 + _cexp(-z)),
    }
    expected = formulas[name](z)
    eps = np.finfo(dtype).eps
    for x in (facula.tensor(z), facula.tensor(np.repeat(z, 2))[::2]):
        np.testing.assert_allclose(function(x).numpy(), expected, rtol=40 * eps, atol=4 * eps)
    whole = function(facula.tensor(z))
    for i in range(min(n, 20)):
        assert facula.equal(function(facula.tensor(z[i : i + 1])), whole[i : i + 1])
