"""``make_tensor``: random tensors for tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula._warnings import warn_user

__all__ = ["make_tensor"]


def make_tensor(
    *shape: int | Sequence[int],
    dtype: facula.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of random values, evenly distributed over an interval.

    Args:
        shape: its shape, as numbers or as one sequence.
        dtype: its dtype.
        device: where it is made.
        low: the least value; -9 by default, 0 for bool and uint8. One that the dtype cannot have
            becomes the least that it has.
        high: the end of the interval, not a value itself; 9 for floating point and complex dtypes,
            10 for integers, 2 for bool.
        requires_grad: whether gradients are wanted for it.
        noncontiguous: whether it is every other element of a larger tensor.
        exclude_zero: whether zeros become the least positive value, 1 for integers.
        memory_format: the order of its dimensions in memory.

    Example:
        >>> x = facula.testing.make_tensor(2, 3, dtype=facula.int64, device="cpu", low=0, high=4)
        >>> x.shape, bool((x >= 0).all() and (x < 4).all())
        (torch.Size([2, 3]), True)
    """
    sizes: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    sizes = tuple(sizes)
    is_inexact = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "make_tensor: The parameters `noncontiguous` and `memory_format` are mutually "
            f"exclusive, but got noncontiguous=True and memory_format={memory_format}."
        )
    if requires_grad and not is_inexact:
        raise ValueError(
            "make_tensor: `requires_grad=True` is not supported for boolean and integral dtypes, "
            f"but got {dtype}."
        )
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    if noncontiguous:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    first, end = _interval(dtype, low, high)
    if is_inexact:
        result = facula.empty(sizes, device=device, dtype=dtype)
        _fill(facula.view_as_real(result) if dtype.is_complex else result, first, end)
    else:
        bounds = math.ceil(first), math.ceil(end)
        result = facula.randint(*bounds, sizes, device=device, dtype=dtype)
    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = facula.finfo(dtype).tiny if is_inexact else 1
    return result.requires_grad_(requires_grad) if is_inexact else result


def _interval(dtype: facula.dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """From where to where values go, as far as the dtype has them."""
    if dtype == facula.bool:
        least, most, default_high = 0.0, 2.0, 2.0
    elif dtype.is_floating_point or dtype.is_complex:
        least, most, default_high = facula.finfo(dtype).min, facula.finfo(dtype).max, 9.0
    else:
        info = facula.iinfo(dtype)
        # randint cannot be asked for the largest int64.
        least, most, default_high = info.min, info.max + (dtype != facula.int64), 10
    first = (0 if dtype == facula.bool else -9) if low is None else low
    end = default_high if high is None else high
    if math.isnan(first) or math.isnan(end):
        raise ValueError(f"make_tensor: `low` and `high` cannot be NaN, but got {low=}, {high=}.")
    if first == end and (dtype.is_floating_point or dtype.is_complex):
        warn_user(
            "make_tensor: Passing `low==high` for floating or complex types is deprecated. Use "
            "facula.full(...) instead.",
        )
    elif first >= end:
        raise ValueError(f"make_tensor: `low` must be less than `high`, but got {first} >= {end}.")
    elif end < least or first >= most:
        raise ValueError(
            "make_tensor: The value interval specified by `low` and `high` is "
            f"[{first}, {end}), but {dtype} only supports [{least}, {most})."
        )
    return min(max(first, least), most), min(max(end, least), most)


def _fill(x: Tensor, low: float, high: float) -> None:
    # The width of a very wide interval is infinite: half of it is not.
    if high - low >= facula.finfo(x.dtype).max:
        x.uniform_(low / 2, high / 2).mul_(2)
    else:
        x.uniform_(low, high)
