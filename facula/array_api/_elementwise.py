"""The standard's chapter of element-wise functions.

Functions of one tensor are those of ``facula`` itself, mostly. Those of two take a number for one
of them and promote by the standard's rules; each is one row.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

import facula
from facula import _core
from facula._core import (
    Tensor,
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    cos,
    cosh,
    exp,
    expm1,
    floor,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    logical_not,
    positive,
    real,
    reciprocal,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    trunc,
)
from facula._core import bitwise_not as bitwise_invert
from facula._core import neg as negative
from facula.array_api._data_types import (
    Number,
    iinfo,
    isdtype,
    operands,
    promoted,
    result_type,
)

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]

_Function = Callable[[Any, Any], Tensor]


def _of_two(
    name: str, operation: Callable[..., Tensor], sentence: str, left: Any, right: Any, result: Any
) -> _Function:
    """The operation with the standard's signature; the last three are an example of it."""

    def function(x1: Tensor | Number, x2: Tensor | Number, /) -> Tensor:
        return operation(*operands(x1, x2))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{sentence}

    Args:
        x1: a tensor, or a number if ``x2`` is a tensor.
        x2: a tensor whose shape broadcasts with that of ``x1``, or a number.

    Example:
        >>> xp = facula.array_api
        >>> xp.{name}(xp.asarray({left!r}), xp.asarray({right!r})).tolist()
        {result!r}
    """
    return function


def _floor_divide(x1: Tensor, x2: Tensor) -> Tensor:
    quotients = _core.floor_divide(x1, x2)
    if not quotients.dtype.is_floating_point:
        return quotients
    # Of infinities the standard wants the floor of the quotient, Python's rule gives NaN and -1.
    infinite = _core.isinf(x1) | _core.isinf(x2)
    return _core.where(infinite, _core.floor(x1 / x2), quotients)


add = _of_two("add", _core.add, "Sums of the elements.", [1, 2], [10, 20], [11, 22])
atan2 = _of_two(
    "atan2",
    _core.atan2,
    "Angles of the points with coordinates ``x2`` and ``x1``, from -pi to pi.",
    [0.0, 1.0],
    [1.0, 0.0],
    [0.0, 1.5707963705062866],
)
bitwise_and = _of_two(
    "bitwise_and", _core.bitwise_and, "The bits that are in both elements.", [6, 5], [3, 3], [2, 1]
)
bitwise_left_shift = _of_two(
    "bitwise_left_shift",
    _core.bitwise_left_shift,
    "The bits of ``x1``, moved up by ``x2`` places.",
    [1, 3],
    [4, 1],
    [16, 6],
)
bitwise_or = _of_two(
    "bitwise_or", _core.bitwise_or, "The bits that are in either element.", [6, 5], [3, 3], [7, 7]
)
bitwise_right_shift = _of_two(
    "bitwise_right_shift",
    _core.bitwise_right_shift,
    "The bits of ``x1``, moved down by ``x2`` places.",
    [16, -7],
    [4, 1],
    [1, -4],
)
bitwise_xor = _of_two(
    "bitwise_xor",
    _core.bitwise_xor,
    "The bits that are in one of the two elements.",
    [6, 5],
    [3, 3],
    [5, 6],
)
copysign = _of_two(
    "copysign",
    _core.copysign,
    "The absolute values of ``x1`` with the signs of ``x2``.",
    [1.0, 2.0],
    [-0.0, 3.0],
    [-1.0, 2.0],
)
divide = _of_two(
    "divide", _core.true_divide, "Quotients of the elements.", [1.0, 3.0], [2.0, 4.0], [0.5, 0.75]
)
equal = _of_two("equal", _core.eq, "Where the elements are equal.", [1, 2], [1, 3], [True, False])
floor_divide = _of_two(
    "floor_divide",
    _floor_divide,
    "Quotients of the elements, rounded down.",
    [7, -7],
    [2, 2],
    [3, -4],
)
greater = _of_two(
    "greater", _core.gt, "Where ``x1`` is greater than ``x2``.", [1, 3], [1, 2], [False, True]
)
greater_equal = _of_two(
    "greater_equal",
    _core.ge,
    "Where ``x1`` is greater than ``x2`` or equal to it.",
    [1, 1],
    [1, 2],
    [True, False],
)
hypot = _of_two(
    "hypot",
    _core.hypot,
    "Lengths of the vectors with coordinates ``x1`` and ``x2``.",
    [3.0, 5.0],
    [4.0, 12.0],
    [5.0, 13.0],
)
less = _of_two("less", _core.lt, "Where ``x1`` is less than ``x2``.", [1, 1], [1, 2], [False, True])
less_equal = _of_two(
    "less_equal",
    _core.le,
    "Where ``x1`` is less than ``x2`` or equal to it.",
    [1, 3],
    [1, 2],
    [True, False],
)
logaddexp = _of_two(
    "logaddexp",
    _core.logaddexp,
    "Logarithms of ``exp(x1) + exp(x2)``, also where the sum itself would overflow.",
    [1000.0],
    [0.0],
    [1000.0],
)
logical_and = _of_two(
    "logical_and",
    _core.logical_and,
    "Where both elements are true.",
    [True, True],
    [True, False],
    [True, False],
)
logical_or = _of_two(
    "logical_or",
    _core.logical_or,
    "Where either element is true.",
    [True, False],
    [False, False],
    [True, False],
)
logical_xor = _of_two(
    "logical_xor",
    _core.logical_xor,
    "Where one of the two elements is true.",
    [True, True],
    [True, False],
    [False, True],
)
maximum = _of_two(
    "maximum", _core.maximum, "The greater of the elements, NaN if one is.", [1, 5], [3, 2], [3, 5]
)
minimum = _of_two(
    "minimum", _core.minimum, "The smaller of the elements, NaN if one is.", [1, 5], [3, 2], [1, 2]
)
multiply = _of_two("multiply", _core.mul, "Products of the elements.", [1, 2], [3, 4], [3, 8])
nextafter = _of_two(
    "nextafter",
    _core.nextafter,
    "The number next to ``x1`` on the way to ``x2``.",
    [1.0, 2.0],
    [2.0, 2.0],
    [1.0000001192092896, 2.0],
)
not_equal = _of_two(
    "not_equal", _core.ne, "Where the elements differ.", [1, 2], [1, 3], [False, True]
)
pow = _of_two(
    "pow", _core.pow, "``x1`` to the power of ``x2``, for each element.", [2, 3], [3, 2], [8, 9]
)
remainder = _of_two(
    "remainder",
    _core.remainder,
    "What ``floor_divide`` leaves over; it has the sign of ``x2``.",
    [7, -7],
    [4, 4],
    [3, 1],
)
subtract = _of_two("subtract", _core.sub, "Differences of the elements.", [1, 5], [3, 2], [-2, 3])


def clip(
    x: Tensor, /, min: Tensor | int | float | None = None, max: Tensor | int | float | None = None
) -> Tensor:
    """The elements, with those below ``min`` and above ``max`` replaced by these.

    Args:
        x: the tensor, which alone gives the dtype of the result.
        min: the lower end, a number or a tensor whose shape broadcasts with that of ``x``.
        max: the upper end, a number or a tensor whose shape broadcasts with that of ``x``.

    Example:
        >>> facula.array_api.clip(facula.tensor([-5, 0, 5]), -1, 1)
        tensor([-1,  0,  1])
    """
    given = {"min": min, "max": max}
    limits = {name: _limit(x, limit) for name, limit in given.items() if limit is not None}
    if not limits:
        return x.clone()
    x_in_common, *in_common = promoted((x, *limits.values()))
    clamped = _core.clamp(x_in_common, **dict(zip(limits, in_common, strict=True)))
    return clamped.to(x.dtype)


def _limit(x: Tensor, limit: Tensor | int | float) -> Tensor:
    if isinstance(limit, Tensor):
        return limit
    if isdtype(x.dtype, "integral"):
        # Beyond the numbers of the dtype a limit is as good as its last number.
        info = iinfo(x.dtype)
        limit = sorted((info.min, limit, info.max))[1]
    return _core.full((), limit, dtype=result_type(x, limit), device=x.device)


def conj(x: Tensor, /) -> Tensor:
    """Complex conjugates; real elements are their own.

    Args:
        x: the tensor.

    Example:
        >>> facula.array_api.conj(facula.tensor([1 + 2j]))
        tensor([1.-2.j])
    """
    return _core.conj(x).resolve_conj()


def imag(x: Tensor, /) -> Tensor:
    """Imaginary parts.

    Args:
        x: the tensor; zeros are returned for a real one.

    Example:
        >>> facula.array_api.imag(facula.tensor([1 + 2j]))
        tensor([2.])
    """
    return _core.imag(x) if x.dtype.is_complex else _core.zeros_like(x)


def round(x: Tensor, /) -> Tensor:
    """The nearest integers, in the tensor's dtype; halves go to the even one.

    Args:
        x: the tensor; both parts of complex elements are rounded.

    Example:
        >>> facula.array_api.round(facula.tensor([0.5, 1.5, -1.2]))
        tensor([ 0.,  2., -1.])
    """
    if x.dtype.is_complex:
        return facula.complex(_core.round(x.real), _core.round(x.imag))
    return _core.round(x)


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1, and NaN for NaN; complex elements are divided by their absolute value.

    Args:
        x: the tensor.

    Example:
        >>> facula.array_api.sign(facula.tensor([-2.0, 0.0, facula.nan]))
        tensor([-1.,  0., nan])
    """
    signs = _core.sgn(x)
    if x.dtype.is_complex:
        return signs.masked_fill(~_core.isfinite(x), complex(nan, nan))
    return signs.masked_fill(_core.isnan(x), nan) if x.dtype.is_floating_point else signs
