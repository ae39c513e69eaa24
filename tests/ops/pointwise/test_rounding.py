"""Rounding to integers and to decimals, and the parts of numbers."""

import numpy as np
import pytest

import facula
from check_op import FLOATING, INTEGRAL, check_op

NUMBERS = [3.0, -0.75, 0.5, 0.0, -0.0, 5e-324, 1.5e308, 2.0**-1074 * 3, np.inf, -np.inf, np.nan]
STEPS = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "fix": np.trunc, "round": np.round}


@pytest.mark.parametrize("name", STEPS)
def test_rounding_agrees_with_numpy(name):
    for dtypes in (FLOATING, INTEGRAL):
        check_op(
            getattr(facula, name),
            STEPS[name],
            [(3, 4)],
            dtypes=dtypes,
            low=-9,
            high=9,
            elementwise=True,
            differentiable=False,
        )


@pytest.mark.promise("T5")
@pytest.mark.parametrize("name", STEPS)
def test_rounding_in_place_writes_the_same_and_gives_a_gradient_of_zero(name):
    x = facula.tensor([-2.5, -0.5, 0.5, 1.5, 1.75], requires_grad=True)
    for place in (facula, facula.Tensor):
        y = x * 1
        assert getattr(place, name + "_")(y) is y
        assert y.tolist() == STEPS[name](x.detach().numpy()).tolist()
        y.sum().backward()
        assert x.grad.tolist() == [0] * 5


@pytest.mark.parametrize("decimals, expected", [(1, [1.2, -3.8]), (0, [1, -4]), (-1, [0, -0.0])])
def test_round_keeps_decimals(decimals, expected):
    x = facula.tensor([1.23, -3.77], dtype=facula.float64)
    assert facula.round(x, decimals=decimals).tolist() == pytest.approx(expected)
    assert x.round_(decimals=decimals) is x
    assert x.tolist() == pytest.approx(expected)


def test_halves_are_rounded_to_the_even_neighbour():
    x = facula.tensor([-1.5, -0.5, 0.5, 1.5, 2.5])
    assert x.round_().tolist() == [-2, 0, 0, 2, 2]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_frexp_agrees_with_numpy(dtype):
    x = facula.tensor(NUMBERS, dtype=facula.float64).to(getattr(facula, dtype))
    mantissa, exponent = facula.frexp(x)
    expected, powers = np.frexp(x.double().numpy())
    np.testing.assert_array_equal(mantissa.double().numpy(), expected)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(exponent.numpy()[finite], powers[finite])
    assert (mantissa.dtype, exponent.dtype) == (x.dtype, facula.int32)


def test_frexp_of_float32_knows_its_denormal_numbers():
    x = np.array([1e-45, -3e-40, 1.2e-38, 3e38] * 9, np.float32)
    for given in (facula.from_numpy(x), facula.from_numpy(np.repeat(x, 2))[::2]):
        mantissa, exponent = facula.frexp(given)
        expected, powers = np.frexp(x)
        np.testing.assert_array_equal(mantissa.numpy(), expected)
        np.testing.assert_array_equal(exponent.numpy(), powers)


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


@pytest.mark.parametrize("size", [1, 7, 16, 33, 700])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_frexp_of_any_size_and_layout(dtype, size):
    numbers = np.ldexp(np.linspace(-2, 2, size), np.arange(size) % 20 - 10)
    x = facula.tensor(numbers).to(getattr(facula, dtype))
    for given in (x, facula.stack([x, x], 1)[:, 0]):
        mantissa, exponent = facula.frexp(given)
        expected, powers = np.frexp(x.double().numpy())
        np.testing.assert_array_equal(mantissa.double().numpy(), expected)
        np.testing.assert_array_equal(exponent.numpy(), powers)


def test_frexp_of_each_example():
    x = facula.tensor([[6.0, -0.25], [0.0, 1.0]])
    found = facula.func.vmap(facula.frexp)(x)
    assert [part.tolist() for part in found] == [part.tolist() for part in facula.frexp(x)]
