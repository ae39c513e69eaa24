"""The parts of floating-point numbers."""

import numpy as np
import pytest

import facula

NUMBERS = [3.0, -0.75, 0.5, 0.0, -0.0, 5e-324, 1.5e308, 2.0**-1074 * 3, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_frexp_agrees_with_numpy(dtype):
    x = facula.tensor(NUMBERS, dtype=facula.float64).to(getattr(facula, dtype))
    mantissa, exponent = facula.frexp(x)
    expected, powers = np.frexp(x.double().numpy())
    np.testing.assert_array_equal(mantissa.double().numpy(), expected)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(exponent.numpy()[finite], powers[finite])
    assert (mantissa.dtype, exponent.dtype) == (x.dtype, facula.int32)


def test_frexp_differentiates_the_mantissa():
    x = facula.tensor([6.0, -0.25], dtype=facula.float64, requires_grad=True)
    facula.frexp(x).mantissa.sum().backward()
    assert x.grad.tolist() == [0.125, 2]


def test_frexp_takes_out_and_refuses_integers():
    mantissa, exponent = facula.empty(1), facula.empty(1, dtype=facula.int32)
    facula.frexp(facula.tensor([6.0]), out=(mantissa, exponent))
    assert (mantissa.item(), exponent.item()) == (0.75, 3)
    with pytest.raises(RuntimeError, match="frexp: expected a floating-point input, got"):
        facula.frexp(facula.tensor([6]))
