"""The standard's chapter of data types, and how the dtypes of arguments meet.

Where the rules differ from PyTorch's: a tensor without dimensions counts as much as any other, and
casts are allowed where promotion would lead to the same dtype.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from facula import _core, _limits
from facula._core import (
    Tensor,
    bool,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)

__all__ = [
    "astype",
    "bool",
    "can_cast",
    "complex64",
    "complex128",
    "finfo",
    "float32",
    "float64",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "result_type",
    "uint8",
]

DType: TypeAlias = _core.dtype
Device: TypeAlias = "_core.device | str | int"
Number: TypeAlias = "int | float | complex"

# The standard's dtypes. The integers of 16 to 64 bits without a sign are not among them: tensors
# can be stored as such, but no operation computes with them.
DTYPES: dict[str, DType] = {
    "bool": bool,
    "int8": int8,
    "int16": int16,
    "int32": int32,
    "int64": int64,
    "uint8": uint8,
    "float32": float32,
    "float64": float64,
    "complex64": complex64,
    "complex128": complex128,
}

_INTEGERS = "signed integer", "unsigned integer"
_FLOATS = "real floating", "complex floating"
# What each name of a kind covers.
_KINDS = {name: {name} for name in ("bool", *_INTEGERS, *_FLOATS)}
_KINDS["integral"] = {*_INTEGERS}
_KINDS["numeric"] = {*_INTEGERS, *_FLOATS}


def _kind_of(dtype: DType) -> str:
    if dtype == bool:
        return "bool"
    if dtype.is_complex:
        return "complex floating"
    if dtype.is_floating_point:
        return "real floating"
    return "signed integer" if dtype.is_signed else "unsigned integer"


@dataclass(frozen=True)
class _FloatLimits:
    """What ``finfo`` returns."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class _IntegerLimits:
    """What ``iinfo`` returns."""

    bits: int
    max: int
    min: int
    dtype: DType


def _dtype_of(what: Tensor | DType) -> DType:
    return what.dtype if isinstance(what, Tensor) else what


def finfo(type: DType | Tensor, /) -> _FloatLimits:
    """Limits of a floating-point dtype, or of a tensor's; of a complex one, those of its parts.

    Args:
        type: the dtype, or a tensor that has it.

    Example:
        >>> facula.array_api.finfo(facula.float32).bits
        32
    """
    dtype = _dtype_of(type)
    limits = _limits.finfo(dtype)
    return _FloatLimits(
        limits.bits,
        limits.eps,
        limits.max,
        limits.min,
        limits.smallest_normal,
        dtype.to_real() if dtype.is_complex else dtype,
    )


def iinfo(type: DType | Tensor, /) -> _IntegerLimits:
    """Limits of an integer dtype, or of a tensor's.

    Args:
        type: the dtype, or a tensor that has it.

    Example:
        >>> facula.array_api.iinfo(facula.ones(2, dtype=facula.int8)).max
        127
    """
    dtype = _dtype_of(type)
    limits = _limits.iinfo(dtype)
    return _IntegerLimits(limits.bits, limits.max, limits.min, dtype)


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> builtins.bool:
    """Whether the dtype is of a kind.

    Args:
        dtype: the dtype that is asked about.
        kind: a dtype; one of ``"bool"``, ``"signed integer"``, ``"unsigned integer"``,
            ``"integral"``, ``"real floating"``, ``"complex floating"``, ``"numeric"``; or a tuple
            of these, of which one must fit.

    Example:
        >>> facula.array_api.isdtype(facula.int8, ("bool", "integral"))
        True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, _core.dtype):
        return dtype == kind
    if kind not in _KINDS:
        names = ", ".join(repr(name) for name in _KINDS)
        raise ValueError(f"isdtype: expected a dtype or one of {names} as kind, got {kind!r}.")
    return _kind_of(dtype) in _KINDS[kind]


def can_cast(from_: DType | Tensor, to: DType, /) -> builtins.bool:
    """Whether promotion of the two dtypes gives ``to``. No dtype becomes another kind that way.

    Args:
        from_: a dtype, or a tensor that has it.
        to: the dtype of the cast.

    Example:
        >>> facula.array_api.can_cast(facula.int8, facula.int32)
        True
        >>> facula.array_api.can_cast(facula.int32, facula.float64)
        False
    """
    dtype = _dtype_of(from_)
    alike = any(
        isdtype(dtype, kind) and isdtype(to, kind) for kind in ("bool", "integral", _FLOATS)
    )
    return alike and _core.promote_types(dtype, to) == to


def result_type(*arrays_and_dtypes: Tensor | Number | DType) -> DType:
    """The dtype to which all arguments promote.

    Args:
        arrays_and_dtypes: tensors, dtypes and numbers; at least one that is no number.

    Example:
        >>> facula.array_api.result_type(facula.float32, facula.ones((), dtype=facula.float64), 2)
        torch.float64
    """
    numbers = [each for each in arrays_and_dtypes if isinstance(each, (int, float, complex))]
    others = [_dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, (int, float, complex))]
    if not others:
        raise ValueError("result_type: expected a tensor or a dtype among the arguments, got none.")
    dtype = functools.reduce(_core.promote_types, others)
    for number in numbers:
        dtype = _core.result_type(_core.empty(1, dtype=dtype), number)
    return dtype


def astype(
    x: Tensor, dtype: DType, /, *, copy: builtins.bool = True, device: Device | None = None
) -> Tensor:
    """The tensor's elements in another dtype.

    Args:
        x: the tensor.
        dtype: the dtype of the result; a real one only if that of the tensor is real.
        copy: whether the result has memory of its own even where the tensor could be returned.
        device: the device of the result; the tensor's if left out.

    Example:
        >>> facula.array_api.astype(facula.tensor([1.7, -1.7]), facula.int64)
        tensor([ 1, -1])
    """
    if x.dtype.is_complex and not dtype.is_complex:
        raise TypeError(
            f"astype: cannot cast {x.dtype} to {dtype}. Take real(x), imag(x) or abs(x) first."
        )
    return x.to(device=x.device if device is None else device, dtype=dtype, copy=copy)


def operands(*xs: Tensor | Number) -> list[Tensor]:
    """The arguments as tensors whose dtypes promote to that of ``result_type``.

    PyTorch would give tensors without dimensions less weight than others: where they decide, all
    are converted first.
    """
    tensors = [x for x in xs if isinstance(x, Tensor)]
    if not tensors:
        raise TypeError("expected a tensor among the arguments, got numbers only.")
    # Most calls are of this form.
    if len(tensors) == len(xs) and all(x.dtype == tensors[0].dtype for x in tensors):
        return tensors
    dtype = result_type(*xs)
    device = tensors[0].device
    return [
        x.to(dtype) if isinstance(x, Tensor) else _core.full((), x, dtype=dtype, device=device)
        for x in xs
    ]


def promoted(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors, all of the dtype to which theirs promote."""
    dtype = result_type(*tensors)
    return [x.to(dtype) for x in tensors]
