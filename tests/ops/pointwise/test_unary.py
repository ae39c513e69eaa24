"""Unary mathematics against NumPy."""

import math

import numpy as np
import pytest

import facula
from check_op import FLOATING, INTEGRAL, check_op

erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])
lgamma = np.vectorize(math.lgamma, otypes=[float])


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


# name, reference, the range in which it is defined and smooth
SMOOTH = [
    ("exp", np.exp, -2, 2),
    ("exp2", np.exp2, -2, 2),
    ("expm1", np.expm1, -2, 2),
    ("log", np.log, 0.2, 3),
    ("log2", np.log2, 0.2, 3),
    ("log10", np.log10, 0.2, 3),
    ("log1p", np.log1p, -0.5, 3),
    ("sqrt", np.sqrt, 0.2, 3),
    ("rsqrt", lambda a: 1 / np.sqrt(a), 0.2, 3),
    ("sin", np.sin, -3, 3),
    ("cos", np.cos, -3, 3),
    ("tan", np.tan, -1, 1),
    ("asin", np.arcsin, -0.8, 0.8),
    ("acos", np.arccos, -0.8, 0.8),
    ("atan", np.arctan, -3, 3),
    ("sinh", np.sinh, -2, 2),
    ("cosh", np.cosh, -2, 2),
    ("tanh", np.tanh, -2, 2),
    ("asinh", np.arcsinh, -2, 2),
    ("acosh", np.arccosh, 1.2, 3),
    ("atanh", np.arctanh, -0.7, 0.7),
    ("sigmoid", sigmoid, -3, 3),
    ("erf", erf, -2, 2),
    ("erfc", erfc, -2, 2),
    ("lgamma", lgamma, 0.5, 4),
    ("reciprocal", lambda a: 1 / a, 0.3, 3),
    ("square", np.square, -3, 3),
    ("neg", np.negative, -3, 3),
    ("abs", np.abs, 0.1, 3),
    ("relu", lambda a: np.maximum(a, 0), 0.1, 3),
]
STEPS = [
    ("floor", np.floor),
    ("ceil", np.ceil),
    ("round", np.round),
    ("trunc", np.trunc),
    ("sign", np.sign),
    ("isnan", np.isnan),
    ("isfinite", np.isfinite),
    ("logical_not", np.logical_not),
]


@pytest.mark.parametrize("name, reference, low, high", SMOOTH, ids=[row[0] for row in SMOOTH])
def test_value_and_gradients_agree_with_numpy(name, reference, low, high, device):
    op = getattr(facula, name)
    check_op(op, reference, [(3, 4)], device, low=low, high=high, elementwise=True)


@pytest.mark.parametrize("name, reference", STEPS, ids=[row[0] for row in STEPS])
def test_step_functions_agree_with_numpy(name, reference, device):
    op = getattr(facula, name)
    check_op(op, reference, [(3, 4)], device, elementwise=True, differentiable=False)


@pytest.mark.parametrize("name", ["negative", "abs", "square", "sign"])
def test_integers_are_exact(name):
    check_op(
        getattr(facula, name),
        getattr(np, name),
        [(3, 4)],
        dtypes=[dtype for dtype in INTEGRAL if dtype != "uint8"],
        low=-5,
        high=5,
        elementwise=True,
        differentiable=False,
    )


@pytest.mark.parametrize("name", ["exp", "log1p", "sqrt", "sin", "tanh", "sigmoid"])
def test_integers_become_float32(name):
    result = getattr(facula, name)(facula.tensor([0, 1, 2]))
    assert result.dtype == facula.float32


@pytest.mark.promise("T5")
@pytest.mark.parametrize("name", [row[0] for row in SMOOTH])
def test_in_place_form_writes_the_same_values(name):
    x = facula.linspace(0.3, 0.7, 12).view(3, 4)
    x = x if name != "acosh" else x + 1
    expected = getattr(facula, name)(x)
    y = x.clone()
    assert getattr(y, name + "_")() is y
    assert facula.equal(y, expected)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sqrt", "sigmoid", "relu", "sin", "erf"])
def test_nan_passes_through(name, dtype):
    x = facula.full((33,), float("nan"), dtype=getattr(facula, dtype))
    assert getattr(facula, name)(x).isnan().all()


def test_large_inputs_of_every_length_agree_with_numpy():
    for numel in [1, 7, 8, 15, 16, 17, 63, 64, 65, 1000, 70_001]:
        a = np.linspace(-4, 4, numel, dtype=np.float32)
        result = facula.from_numpy(a).exp().numpy()
        np.testing.assert_allclose(result, np.exp(a.astype(np.float64)), rtol=3e-7)


def test_square_roots_of_floats_are_rounded_correctly():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    edges = np.array([0.0, -0.0, np.inf, 1e-45, 2.0**-60, 2.0**-126, 3.4028235e38, 1], np.float32)
    squares = np.arange(4096, dtype=np.float32) ** 2
    near = np.nextafter(squares, np.float32(np.inf)), np.nextafter(squares, np.float32(0))
    with np.errstate(invalid="ignore"):
        for x in (a, edges, squares, *near):
            result = facula.from_numpy(x.copy()).sqrt().numpy()
            np.testing.assert_array_equal(result, np.sqrt(x))
            signs = np.signbit(result[x == 0])
            np.testing.assert_array_equal(signs, np.signbit(x[x == 0]))


def test_only_what_the_derivative_needs_is_kept():
    x = facula.tensor([1.0, 2.0], requires_grad=True)
    for name in ["exp", "sqrt", "tanh", "sigmoid", "relu", "reciprocal"]:
        z = x * 1
        y = getattr(z, name)()
        z.add_(1)  # the derivative uses y only
        y.sum().backward()
    for name in ["sin", "log", "erf"]:
        z = x * 1
        y = getattr(z, name)()
        y.add_(1)  # the derivative uses z only
        y.sum().backward()


def test_sinc_has_a_gradient_where_the_square_underflows():
    for dtype, small in ((facula.float16, 1e-5), (facula.float32, 1e-30), (facula.float64, 1e-200)):
        x = facula.tensor([0.0, small, -small], dtype=dtype, requires_grad=True)
        facula.sinc(x).sum().backward()
        assert x.grad.tolist() == [0, 0, 0]


def test_overwriting_what_the_derivative_needs_is_an_error():
    x = facula.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="overwritten in-place"):
        y.sum().backward()


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "relu", "sin", "log", "neg", "sqrt"])
def test_in_place_form_has_the_same_gradient(name):
    x = facula.tensor([0.5, 1.0, 2.0], requires_grad=True)
    (expected,) = facula.autograd.grad(getattr(x * 2, name)().sum(), x)
    (grad,) = facula.autograd.grad(getattr(x * 2, name + "_")().sum(), x)
    assert facula.equal(grad, expected)


@pytest.mark.parametrize("name", ["exp", "tanh", "erf", "sin", "log1p", "pow"])
def test_strided_and_contiguous_inputs_give_the_same_bits(name):
    x = facula.linspace(0.01, 9, 700).view(20, 35)
    op = (lambda t: t.pow(1.7)) if name == "pow" else getattr(facula, name)
    assert facula.equal(op(x.t()), op(x.t().contiguous()))
    assert facula.equal(op(x[:, ::3]), op(x[:, ::3].contiguous()))


def test_round_takes_decimals():
    x = facula.tensor([1.25, 123.456])
    np.testing.assert_allclose(x.round(decimals=1).tolist(), [1.2, 123.5], rtol=1e-6)
    assert x.round(decimals=-2).tolist() == [0, 100]


def test_nan_to_num_replaces_what_is_not_finite():
    x = facula.tensor([float("nan"), float("inf"), -float("inf"), 1.0])
    largest = facula.finfo(facula.float32).max
    assert x.nan_to_num().tolist() == [0, largest, -largest, 1]
    assert x.nan_to_num(1.0, 2.0, 3.0).tolist() == [1, 2, 3, 1]


@pytest.mark.parametrize("dtype", [*FLOATING, "int64", "uint8", "bool"])
def test_angle_of_real_numbers_is_zero_or_half_a_turn(dtype):
    x = facula.tensor([0.0, 1.0, 5.0], dtype=getattr(facula, dtype))
    assert x.angle().tolist() == [0, 0, 0]
    if dtype in FLOATING:
        x = facula.tensor([-0.0, -2.0, math.inf, -math.inf, math.nan] * 7, dtype=x.dtype)
        pi = facula.tensor(math.pi, dtype=x.dtype).item()
        assert x.angle().dtype == x.dtype
        np.testing.assert_array_equal(x.angle().double(), [0, pi, 0, pi, math.nan] * 7)


def test_absolute_value_and_angle_of_complex_numbers_are_real():
    z = facula.tensor([3 + 4j, -1 + 0j])
    assert z.abs().dtype == facula.float32
    assert z.abs().tolist() == [5, 1]
    np.testing.assert_allclose(z.angle().tolist(), np.angle([3 + 4j, -1 + 0j]), rtol=1e-6)


@pytest.mark.parametrize(
    "name, dtype", [("frac", "int64"), ("floor", "bool"), ("erf", "complex64")]
)
def test_dtypes_without_the_operation_are_refused(name, dtype):
    with pytest.raises(NotImplementedError, match=rf"{name}: not implemented for {dtype}"):
        getattr(facula, name)(facula.ones(2, dtype=getattr(facula, dtype)))
