"""Element-wise functions, with the special values of the standard."""

import itertools
import math

import numpy as np
import pytest
from array_api_cases import (
    ALL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    REALS,
    assert_agree,
    assert_same,
    given,
    pairs,
    parts,
    results,
)
from hypothesis import strategies as st

import facula
from facula import array_api

FLOAT_FUNCTIONS = [
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log"),
    *("log1p", "log2", "log10", "reciprocal", "sin", "sinh", "sqrt", "tan", "tanh"),
]
NUMBER_FUNCTIONS = ["abs", "isfinite", "isinf", "isnan", "negative", "positive", "sign", "square"]
REAL_FUNCTIONS = ["ceil", "floor", "round", "trunc"]
BINARY = {
    "add": NUMBERS,
    "atan2": FLOATS,
    "bitwise_and": ["bool", *INTEGERS],
    "bitwise_or": ["bool", *INTEGERS],
    "bitwise_xor": ["bool", *INTEGERS],
    "copysign": FLOATS,
    "divide": [*FLOATS, *COMPLEX],
    "equal": ALL,
    "greater": REALS,
    "greater_equal": REALS,
    "hypot": FLOATS,
    "less": REALS,
    "less_equal": REALS,
    "logaddexp": FLOATS,
    "logical_and": ["bool"],
    "logical_or": ["bool"],
    "logical_xor": ["bool"],
    "maximum": REALS,
    "minimum": REALS,
    "multiply": NUMBERS,
    "nextafter": FLOATS,
    "not_equal": ALL,
    "subtract": NUMBERS,
}
SPECIAL = [
    *(sign * v for v in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 1e300, math.inf) for sign in (1, -1)),
    math.nan,
    1e-310,
]
COMPLEX_SPECIAL = [
    complex(*both)
    for both in itertools.product([0.0, -0.0, 1.0, -2.0, math.inf, -math.inf, math.nan], repeat=2)
]


@pytest.mark.parametrize("name", [*FLOAT_FUNCTIONS, *NUMBER_FUNCTIONS, *REAL_FUNCTIONS, "signbit"])
def test_special_values_of_one_number(name):
    assert_special(name, np.array(SPECIAL))


# The standard says nothing about the reciprocal of a complex zero, and about the zeros of signs.
@pytest.mark.parametrize(
    "name",
    [n for n in [*FLOAT_FUNCTIONS, *NUMBER_FUNCTIONS] if n not in ("reciprocal", "sign")]
    + ["conj", "imag", "real", "round"],
)
def test_special_values_of_one_complex_number(name):
    assert_special(name, np.array(COMPLEX_SPECIAL))


def test_signs_of_complex_numbers():
    assert_agree("sign", np.array(COMPLEX_SPECIAL), rtol=1e-12)


def assert_special(name, *values):
    """Values to rounding errors, and the signs of zeros."""
    ours, theirs = results(name, *values)
    assert_same(ours, theirs, rtol=1e-12)
    if ours.dtype == facula.bool:
        return
    for ours_part, part in parts(ours.numpy(), np.from_dlpack(theirs)):
        zeros = part == 0
        np.testing.assert_array_equal(np.signbit(ours_part)[zeros], np.signbit(part)[zeros])


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "atan2",
        "copysign",
        "divide",
        "equal",
        "greater",
        "greater_equal",
        "hypot",
        "less",
        "less_equal",
        "logaddexp",
        "maximum",
        "minimum",
        "multiply",
        "nextafter",
        "not_equal",
        "pow",
        "remainder",
        "subtract",
    ],
)
def test_special_values_of_two_numbers(name):
    left, right = (
        np.array(side) for side in zip(*itertools.product(SPECIAL, repeat=2), strict=True)
    )
    assert_special(name, left, right)


def test_infinities_are_divided_by_the_rule_of_the_standard():
    inf = math.inf
    left = facula.tensor([inf, inf, -inf, -inf, 1.0, 1.0, -1.0, -1.0, 0.0, inf, 7.0])
    right = facula.tensor([2.0, -2.0, 2.0, -2.0, inf, -inf, inf, -inf, -inf, inf, -2.0])
    quotients = array_api.floor_divide(left, right).tolist()
    assert str(quotients) == "[inf, -inf, -inf, inf, 0.0, -0.0, -0.0, 0.0, -0.0, nan, -4.0]"


@pytest.mark.parametrize("name", BINARY)
@given(st.data())
def test_two_tensors_promote_and_broadcast(name, data):
    assert_agree(name, *data.draw(pairs(BINARY[name])), rtol=1e-6)


@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift", "pow"])
@given(pairs(INTEGERS, lambda dtype: st.integers(0, 3)))
def test_integers_that_are_not_negative(name, values):
    assert_agree(name, *values)


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
@given(pairs([*INTEGERS, *FLOATS], lambda dtype: st.sampled_from([1, 2, 3])))
def test_division_with_a_rest(name, values):
    assert_agree(name, *values)


@pytest.mark.parametrize("name", [n for n in BINARY if n not in ("bitwise_and", "nextafter")])
@pytest.mark.parametrize("number_first", [False, True])
def test_a_number_stands_for_a_tensor_of_the_other_dtype(name, number_first):
    for dtype in BINARY[name]:
        x = np.array([1, 0, 3], dtype=dtype)
        number = x[0].item()
        assert_agree(name, *((number, x) if number_first else (x, number)), rtol=1e-6)


def test_a_tensor_without_dimensions_counts_as_much_as_others():
    small, zero_dim = facula.tensor([1, 100], dtype=facula.int8), facula.tensor(1000)
    assert array_api.add(small, zero_dim).tolist() == [1001, 1100]
    assert array_api.less(zero_dim, small).tolist() == [False, False]
    assert array_api.where(small > 1, zero_dim, small).tolist() == [1, 1000]
    floats = facula.ones(2), facula.tensor(1.0, dtype=facula.float64)
    assert array_api.multiply(*floats).dtype == facula.float64


def test_numbers_alone_are_refused():
    with pytest.raises(TypeError, match="expected a tensor among the arguments"):
        array_api.add(1, 2)


@given(pairs(REALS), st.integers(0, 2), st.integers(2, 4))
def test_clip(values, low, high):
    x, limit = values[0], values[1].astype(values[0].dtype)
    assert_agree("clip", x, low, high)
    assert_agree("clip", x, low)
    assert_agree("clip", x)
    if np.broadcast_shapes(x.shape, limit.shape) == x.shape:
        assert_agree("clip", x, max=limit)


def test_limits_beyond_a_dtype_clip_nothing():
    x = facula.tensor([-128, 0, 127], dtype=facula.int8)
    assert array_api.clip(x, -1000, 1000).tolist() == x.tolist()
    clipped = array_api.clip(x, facula.tensor(-1000), facula.tensor([1000, 1000, 5]))
    assert clipped.tolist() == [-128, 0, 5]
    assert clipped.dtype == facula.int8


@pytest.mark.parametrize("name", [*REAL_FUNCTIONS, "square", "abs", "sign", "positive"])
@pytest.mark.parametrize("dtype", REALS)
def test_a_dtype_stays_as_it_is(name, dtype):
    assert_agree(name, np.array([[0, 3], [1, 2]], dtype=dtype))


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS])
def test_bits_are_inverted(dtype):
    assert_agree("bitwise_invert", np.array([0, 1], dtype=dtype))


def test_gradients_flow_through_the_namespace():
    x = facula.tensor([1.0, 4.0], requires_grad=True)
    array_api.sum(array_api.multiply(array_api.sqrt(x), 2)).backward()
    assert x.grad.tolist() == [1.0, 0.5]
