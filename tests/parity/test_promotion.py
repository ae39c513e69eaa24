"""Which dtype comes out of which: tensors, 0-d tensors and Python scalars."""

from __future__ import annotations

import operator
from typing import Any

import pytest
import torch

from .frameworks import DTYPES
from .outcome import agree

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
