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
