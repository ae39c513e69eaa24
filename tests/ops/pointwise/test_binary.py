"""Functions of two tensors: what the other tests of elements leave out."""

import math

import numpy as np
import pytest

import facula
from check_op import check_op


def poisson(a, x):
    """The upper incomplete gamma function of an integer, which is a sum."""
    return sum(math.exp(k * math.log(x) - x - math.lgamma(k + 1)) for k in range(a))


@pytest.mark.parametrize("a", [1, 3, 30, 200])
@pytest.mark.parametrize("ratio", [0.1, 0.9, 1.0, 1.2, 3.0])
def test_igamma_of_integers_is_a_sum(a, ratio):
    x = a * ratio
    given = facula.tensor([float(a)], dtype=facula.float64), facula.tensor(x, dtype=facula.float64)
    upper = poisson(a, x)
    assert facula.igammac(*given).item() == pytest.approx(upper, rel=1e-11, abs=1e-14)
    assert facula.igamma(*given).item() == pytest.approx(1 - upper, rel=1e-9, abs=1e-14)


def test_igamma_of_one_half_is_the_error_function():
    x = facula.tensor([1e-3, 0.3, 2.0, 9.0], dtype=facula.float64)
    lower = facula.igamma(facula.full((4,), 0.5, dtype=facula.float64), x)
    assert (lower - x.sqrt().erf()).abs().max() < 1e-14


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_igamma_of_a_float_is_the_same_in_any_company(name):
    ends = facula.tensor([0, math.inf, math.nan, 1e-45, 20, 1e8])
    a = facula.cat([ends, facula.logspace(-6, 2, 25)])
    x = facula.cat([ends, facula.logspace(-7, 2.5, 41)])
    a, x = (t.flatten() for t in facula.meshgrid(a, x, indexing="ij"))
    f = getattr(facula, name)
    y = f(a, x)
    assert facula.equal(y.isnan(), f(a.double(), x.double()).isnan())
    alone = facula.tensor([f(a[i], x[i]).item() for i in range(a.numel())])
    assert np.array_equal(alone.numpy(), y.numpy(), equal_nan=True)


def test_igamma_at_the_borders():
    inf, nan = math.inf, math.nan
    a = facula.tensor([0.0, 0.0, 1.0, 1.0, inf, inf, -1.0, nan])
    x = facula.tensor([0.0, 1.0, 0.0, inf, 1.0, inf, 1.0, 1.0])
    assert str(facula.igamma(a, x).tolist()) == str([nan, 1.0, 0.0, 1.0, 0.0, nan, nan, nan])
    assert str(facula.igammac(a, x).tolist()) == str([nan, 0.0, 1.0, 0.0, 1.0, nan, nan, nan])


def test_igamma_differentiates_its_second_argument_only():
    a = facula.tensor([0.7, 3.0], dtype=facula.float64)
    x = facula.tensor([0.4, 5.0], dtype=facula.float64, requires_grad=True)
    for f in (facula.igamma, facula.igammac):
        assert facula.autograd.gradcheck(lambda t, f=f: f(a, t), (x,))
    with pytest.raises(NotImplementedError, match="igamma: the derivative for 'igamma: input'"):
        facula.igamma(a.requires_grad_(), x).sum().backward()


@pytest.mark.parametrize(
    "name", ["pow", "float_power", "remainder", "xlogy", "bitwise_and", "bitwise_left_shift"]
)
def test_two_numbers_are_refused(name):
    with pytest.raises(TypeError, match=f"{name}: expected at least one"):
        getattr(facula, name)(2, 3)


def test_a_matrix_product_with_a_number_is_refused():
    with pytest.raises(TypeError, match="unsupported operand"):
        facula.ones(2, 2) @ 3


def test_trunc_division_of_16_bits_truncates_the_rounded_quotient():
    a, b = facula.tensor([3.5625, 1.0]), facula.tensor([0.06604, 3.0])
    a, b = a.bfloat16(), b.bfloat16()
    assert facula.div(a, b, rounding_mode="trunc").tolist() == (a / b).trunc().tolist()


def test_nextafter_of_equal_numbers_has_no_gradient():
    a = facula.tensor([1.0, 2.0], requires_grad=True)
    b = facula.tensor([3.0, 2.0], requires_grad=True)
    facula.nextafter(a, b).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([1, 0], [0, 0])


def test_float16_with_a_complex_number_is_refused():
    with pytest.raises(NotImplementedError, match="complex32, which is not available"):
        facula.ones(2, dtype=facula.float16) / 1j


def test_a_number_over_a_tensor_is_its_reciprocal_times_the_number():
    x = facula.tensor([4.0], requires_grad=True)
    assert type((2 / x).grad_fn).__name__ == "MulBackward0"
    assert (2 / x).item() == x.__rdiv__(2).item() == 0.5


def test_heaviside_steps_from_0_to_1_with_the_given_value_at_zero():
    check_op(
        facula.heaviside,
        np.heaviside,
        [(3, 4), (4,)],
        dtypes=("float32", "float64", "int32", "int64"),
        elementwise=True,
        differentiable=False,
    )
    x = facula.tensor([-1.0, -0.0, 0.0, 2.0])
    assert x.heaviside(facula.tensor(0.5)).tolist() == [0, 0.5, 0.5, 1]
    assert x.heaviside_(facula.tensor(7.0)) is x
    assert x.tolist() == [0, 7, 7, 1]
    # NaN is neither zero nor above it, and PyTorch says 0 too.
    assert facula.tensor(float("nan")).heaviside(facula.tensor(0.5)).item() == 0


def test_ldexp_multiplies_by_powers_of_two():
    check_op(
        facula.ldexp,
        lambda a, b: a * 2.0**b,
        [(3, 4), (4,)],
        dtypes=("float32", "float64"),
        elementwise=True,
    )
    x, exponents = facula.tensor([1.0, -3.0, 0.5]), facula.tensor([3, -1, 0])
    assert x.ldexp(exponents).tolist() == [8, -1.5, 0.5]
    assert facula.tensor([3]).ldexp(facula.tensor([2])).dtype == facula.float32
    assert x.ldexp_(exponents) is x
    assert x.tolist() == [8, -1.5, 0.5]
