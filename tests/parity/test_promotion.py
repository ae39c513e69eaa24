"""Which dtype comes out of which: tensors, 0-d tensors and Python scalars."""

from __future__ import annotations

import operator
from math import inf, isfinite, nextafter
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from .frameworks import DTYPES
from .outcome import agree
from .strategies import steady

OPERATORS = {
    function.__name__: function
    for function in (
        *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
        *(operator.mod, operator.pow, operator.eq, operator.lt),
        *(operator.and_, operator.or_, operator.lshift),
    )
}
FUNCTIONS = ["maximum", "atan2", "fmod", "copysign", "where", "logical_and", "hypot", "isclose"]
SCALARS = (True, 3, 2.5, 1.5 + 2j)
SHAPES = ("tensor", "0-d")


def _operand(shape: str, dtype: str) -> torch.Tensor:
    values = torch.arange(1, 4).to(DTYPES[dtype])
    return values if shape == "tensor" else values[1].clone()


def _apply(lib: Any, name: str, a: Any, b: Any) -> Any:
    if name in OPERATORS:
        return OPERATORS[name](a, b)
    if name == "where":
        return lib.where(lib.tensor([True, False, True]), a, b)
    return getattr(lib, name)(a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*OPERATORS, *FUNCTIONS])
def test_operation_of_two_dtypes(name: str, dtype: str) -> None:
    for other in DTYPES:
        for left, right in (("tensor", "tensor"), ("tensor", "0-d"), ("0-d", "tensor")):
            a, b = _operand(left, dtype), _operand(right, other)
            agree(lambda lib, a, b: _apply(lib, name, a, b), a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPERATORS)
def test_operation_with_a_python_scalar(name: str, dtype: str) -> None:
    for shape in SHAPES:
        x = _operand(shape, dtype)
        for scalar in SCALARS:
            agree(lambda lib, x, s: OPERATORS[name](x, s), x, scalar)
            agree(lambda lib, x, s: OPERATORS[name](s, x), x, scalar)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "ipow", "iand"])
def test_in_place_operation_casts_or_refuses(name: str, dtype: str) -> None:
    change = getattr(operator, name)
    x = _operand("tensor", dtype)
    for other in DTYPES:
        for shape in SHAPES:
            agree(lambda lib, x, y: change(x, y), x, _operand(shape, other))
    for scalar in SCALARS:
        agree(lambda lib, x, s: change(x, s), x, scalar)


@pytest.mark.parametrize("name", ["add", "mul", "div", "maximum", "eq"])
def test_out_casts_or_refuses(name: str) -> None:
    for dtype in DTYPES:
        x = _operand("tensor", dtype)
        for other in DTYPES:
            out = _operand("tensor", other)
            agree(lambda lib, x, out: getattr(lib, name)(x, x, out=out), x, out)


def test_promote_types_and_can_cast_of_all_pairs() -> None:
    for a in DTYPES.values():
        for b in DTYPES.values():
            agree(lambda lib, a, b: (lib.promote_types(a, b), lib.can_cast(a, b)), a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_result_type(dtype: str) -> None:
    for shape in SHAPES:
        a = _operand(shape, dtype)
        for other in DTYPES:
            for b in (_operand(right, other) for right in SHAPES):
                if torch.result_type(a, b) != torch.complex32:
                    agree(lambda lib, a, b: lib.result_type(a, b), a, b)
        for scalar in SCALARS:
            if torch.result_type(a, scalar) != torch.complex32:
                agree(lambda lib, a, s: lib.result_type(a, s), a, scalar)
                agree(lambda lib, a, s: lib.result_type(s, a), a, scalar)


@pytest.mark.parametrize("default", ["float32", "float64", "float16", "bfloat16"])
def test_default_dtype_decides_what_floats_become(default: str) -> None:
    def program(lib: Any, dtype: Any) -> Any:
        before = lib.get_default_dtype()
        lib.set_default_dtype(dtype)
        try:
            made = lib.tensor([1.5]), lib.zeros(2), lib.arange(3.0)
            ints = lib.ones(2, dtype=lib.int64)
            return made, ints / 2, ints * 1.5, ints.sqrt(), lib.get_default_dtype()
        finally:
            lib.set_default_dtype(before)

    agree(program, DTYPES[default])


def test_default_dtype_must_be_floating() -> None:
    agree(lambda lib: lib.set_default_dtype(lib.int64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_limits_of_the_dtype(dtype: str) -> None:
    def finfo(lib: Any, dtype: Any) -> Any:
        f = lib.finfo(dtype)
        return f.bits, f.eps, f.max, f.min, f.tiny, f.smallest_normal, f.resolution, f.dtype

    def iinfo(lib: Any, dtype: Any) -> Any:
        i = lib.iinfo(dtype)
        return i.bits, i.max, i.min, i.dtype

    def properties(lib: Any, dtype: Any) -> Any:
        return dtype.is_floating_point, dtype.is_complex, dtype.is_signed, dtype.itemsize

    for program in (finfo, iinfo, properties):
        agree(program, DTYPES[dtype], kind="exact")


@pytest.mark.parametrize("dtype", DTYPES)
def test_casting_to_every_dtype(dtype: str) -> None:
    x = _operand("tensor", dtype)
    for other in DTYPES.values():
        agree(lambda lib, x, other: (x.to(other), x.type(other)), x, other)


# What no dtype of the tensor, or none at all, can hold; and what only some can.
NUMBERS = [
    *(127, 128, 255, 256, -129, 2**15, 2**31, 2**32, 2**63 - 1, -(2**63)),
    *(2**64, -(2**63) - 1, 10**30, -(10**40)),
    *(0, -1, -0.0, 1e308, 5e-324, inf, -inf, float("nan")),
]
ARITHMETIC = ("add", "sub", "mul", "truediv")
COMPARISONS = {
    function.__name__: function
    for function in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
}


def _overflows(number: float) -> bool:
    return isinstance(number, int) and not -(2**63) <= number < 2**64


def _edges(dtype: str) -> torch.Tensor:
    kind = DTYPES[dtype]
    if dtype == "bool":
        return torch.tensor([False, True])
    if kind.is_floating_point or kind.is_complex:
        limits = torch.finfo(kind)
        values = [0.0, -0.0, 1.5, limits.max, limits.tiny, inf, float("nan")]
        return torch.tensor(values, dtype=kind)
    bounds = torch.iinfo(kind)
    return torch.tensor([bounds.min, bounds.max, 0, 1, bounds.max // 2 + 1], dtype=kind)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*COMPARISONS, *ARITHMETIC])
def test_numbers_at_the_edges_of_dtypes(name: str, dtype: str) -> None:
    function = COMPARISONS.get(name) or OPERATORS[name]
    for x in (_edges(dtype), _edges(dtype)[1]):
        for number in NUMBERS:
            # PyTorch rounds a number to the half beside it first, and multiplies complex ones by
            # 1 + 0j, which makes infinities NaNs; here the results are exact.
            most = {"float16": 65504, "complex64": -1, "complex128": -1}.get(dtype, inf)
            if name in ARITHMETIC and not abs(number) <= most and not _overflows(number):
                continue
            agree(lambda lib, x, s: function(x, s), x, number)
            agree(lambda lib, x, s: function(s, x), x, number)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "div", "eq", "lt", "fill_", "add_", "clamp", "masked_fill"]
)
def test_an_integer_of_more_than_64_bits_overflows(name: str, number: int) -> None:
    def program(lib: Any, x: Any) -> Any:
        first = (x > 1,) if name == "masked_fill" else ()
        return getattr(x, name)(*first, number)

    agree(program, torch.tensor([1, 2]))
    agree(program, torch.tensor([1.0, 2.0]))


def _bounds() -> list[int | float]:
    """The least and the largest number of every dtype, and up to which integers are exact."""
    found: set[int | float] = {0, 1, 2**64}
    for kind in DTYPES.values():
        if kind.is_floating_point or kind.is_complex:
            limits = torch.finfo(kind)
            exact = int(2 / limits.eps)
            found |= {limits.max, limits.tiny, limits.smallest_normal / 2, limits.eps, exact}
        elif kind != torch.bool:
            found |= {torch.iinfo(kind).min, torch.iinfo(kind).max}
    return sorted(found)


@st.composite
def _number(draw: st.DrawFn) -> Any:
    """A number at an edge, beside it, or its opposite; an int, a float or a bool."""
    bound = draw(st.sampled_from(_bounds()))
    number = draw(st.sampled_from([bound, -bound]))
    if isinstance(number, int):
        number += draw(st.sampled_from([-1, 0, 1]))
    beside = draw(st.sampled_from(["as it is", "float", "half", "next", "bool"]))
    if beside == "float" and abs(number) < 2**1000:
        return float(number)
    if beside == "half" and abs(number) < 2**60:
        return number + 0.5
    if beside == "next" and isinstance(number, float):
        return nextafter(number, draw(st.sampled_from([inf, -inf])))
    return bool(number) if beside == "bool" else number


EDGE_PROGRAMS = {
    **COMPARISONS,
    **{name: OPERATORS[name] for name in ARITHMETIC},
    "iadd": operator.iadd,
    "imul": operator.imul,
    "fill_": lambda x, s: x.fill_(s),
    "full_like": lambda x, s: x.new_full((2,), s),
    "setitem": lambda x, s: x.__setitem__(slice(0, 1), s) or x,
    "clamp_max": lambda x, s: x.clamp(max=s),
    "masked_fill": lambda x, s: x.masked_fill(x == x, s),
    "result_type": lambda x, s: x.add(s).dtype,
}


@steady(1500)
@given(
    st.sampled_from(sorted(DTYPES)),
    st.sampled_from(sorted(EDGE_PROGRAMS)),
    _number(),
    st.booleans(),
)
def test_any_number_around_an_edge(dtype: str, name: str, number: Any, is_0d: bool) -> None:
    x = _edges(dtype)[1] if is_0d and name != "setitem" else _edges(dtype)
    most = {"complex64": -1, "complex128": -1}.get(dtype, inf)
    if dtype in ("float16", "bfloat16"):
        most = torch.finfo(DTYPES[dtype]).max
    is_exact_here = not abs(number) <= most and not _overflows(number)
    if name in (*ARITHMETIC, "iadd", "imul") and is_exact_here:
        return  # see above
    if dtype == "int64" and type(number) is float and number == 2.0**63:
        return  # one more than the largest, which PyTorch's comparison of floats does not see
    is_half = dtype in ("float16", "bfloat16") and isfinite(number)
    if is_half and name in ("fill_", "setitem") and abs(number) > torch.finfo(DTYPES[dtype]).max:
        return  # PyTorch fills a single element without asking whether the number fits
    agree(lambda lib, x, s: EDGE_PROGRAMS[name](x, s), x, number)
    if name in COMPARISONS or name in ARITHMETIC:
        agree(lambda lib, x, s: EDGE_PROGRAMS[name](s, x), x, number)
