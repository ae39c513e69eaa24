"""Tensors from sizes and numbers beyond the core's."""

from __future__ import annotations

import builtins
import math
import warnings
from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._out import into

__all__ = ["empty_permuted", "range"]


def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A dense tensor with its dimensions in a given order in memory, which is as it comes.

    Args:
        size: the shape.
        physical_layout: the dimensions from the outermost in memory to the innermost.
        dtype: the default dtype if left out.
        layout: accepted for its only value here.
        device: the CPU if left out.
        requires_grad: whether the tensor is a leaf that wants a gradient.
        pin_memory: accepted; the memory is ordinary.

    Example:
        >>> facula.empty_permuted((2, 3, 5, 7), (0, 2, 3, 1)).stride()
        (105, 1, 21, 3)
    """
    n_dims = len(size)
    if len(physical_layout) != n_dims:
        raise RuntimeError(
            f"empty_permuted: expected a place in memory for each of {n_dims} dimensions, got "
            f"{tuple(physical_layout)}."
        )
    if set(physical_layout) != {*builtins.range(n_dims)}:
        raise RuntimeError(
            f"empty_permuted: expected each of the dimensions 0 to {n_dims - 1} once, got "
            f"{tuple(physical_layout)}."
        )
    strides, step = [0] * n_dims, 1
    for dim in reversed(physical_layout):
        strides[dim] = step
        step *= max(size[dim], 1)
    return _core.empty_strided(
        size, strides, dtype=dtype, device=device, requires_grad=requires_grad
    )


def new_empty_strided(
    self: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """As ``empty_strided``, with this tensor's dtype and device.

    Example:
        >>> facula.ones(1).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    return _core.empty_strided(
        size,
        stride,
        dtype=self.dtype if dtype is None else dtype,
        device=self.device if device is None else device,
        requires_grad=requires_grad,
    )


def range(
    start: float,
    end: float,
    step: float = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers from ``start`` to ``end``, which is included; historic, see ``arange``.

    Args:
        start: the first number.
        end: the last, where a whole number of steps leads to it.
        step: the distance of two numbers.
        out: where to put the result.
        dtype: the default dtype if left out, for integers too.
        layout: accepted for its only value here.
        device: the CPU if left out.
        pin_memory: accepted; the memory is ordinary.
        requires_grad: whether the tensor is a leaf that wants a gradient.
    """
    warnings.warn("range: is deprecated, because it includes its end. Use arange.", stacklevel=2)
    if dtype is None:
        dtype = _core.get_default_dtype() if out is None else out.dtype
    if dtype == _core.bool or dtype.is_complex:
        raise NotImplementedError(f"range: not defined for {dtype}.")
    if not dtype.is_floating_point:
        start, end, step = int(start), int(end), int(step)
    if step == 0:
        raise RuntimeError("range: step must be nonzero.")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"range: expected finite bounds, got {start} and {end}.")
    if (end - start) * step < 0:
        raise RuntimeError(f"range: steps of {step} do not lead from {start} to {end}.")
    # The end of arange is excluded: half a step after the last number, whatever is rounded; between
    # integers a whole one.
    if dtype.is_floating_point:
        stop = start + (math.floor((end - start) / step) + 0.5) * step
    else:
        stop = start + ((end - start) // step + 1) * step
    result = _core.arange(start, stop, step, dtype=dtype, device=device)
    result = into("range", out, result)
    return result.requires_grad_() if requires_grad else result
