"""The parts of floating-point numbers."""

from __future__ import annotations

from typing import Any

from facula import _core, return_types
from facula._core import Tensor
from facula._ops._out import into

__all__ = ["frexp"]

# Of float64, in which every other dtype's numbers are normal.
MANTISSA_BITS = 52
EXPONENT_MASK = 0x7FF
EXPONENT_BIAS = 1022  # for mantissas in [0.5, 1)
SMALLEST_NORMAL = 2.0**-1022


def frexp(input: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> Any:
    """Each element as ``mantissa * 2**exponent``, the mantissa's size in ``[0.5, 1)``.

    Args:
        input: the numbers, floating point.
        out: where to put mantissa and exponent.

    Returns:
        ``mantissa``, of the dtype of ``input``, and ``exponent``, int32; of zero, the infinities
        and NaN the number itself and 0.

    Example:
        >>> facula.frexp(facula.tensor([6.0, -0.5]))
        facula.return_types.frexp(
        mantissa=tensor([ 0.7500, -0.5000]),
        exponent=tensor([3, 0], dtype=torch.int32))
    """
    if isinstance(out, Tensor):
        raise TypeError("frexp: expected out to be a pair of tensors, got one.")
    if not input.is_floating_point():
        raise RuntimeError(f"frexp: expected a floating-point input, got {input.dtype}.")
    exponent = _exponent(input.detach().to(_core.float64))
    # In two steps: the power itself may be too large or too small.
    half = _core.div(exponent, 2, rounding_mode="floor")
    wide = input.to(_core.float64)
    mantissa = (wide * 2.0**-half * 2.0 ** -(exponent - half)).to(input.dtype)
    parts = mantissa, exponent.to(_core.int32)
    if out is not None:
        parts = into("frexp", out[0], parts[0]), into("frexp", out[1], parts[1])
    return return_types.frexp(parts)


def _exponent(x: Tensor) -> Tensor:
    is_small = x.abs() < SMALLEST_NORMAL
    scaled = _core.where(is_small, x * 2.0**54, x)
    bits = scaled.view(_core.int64)
    exponent = ((bits >> MANTISSA_BITS) & EXPONENT_MASK) - EXPONENT_BIAS - 54 * is_small
    return _core.where((x == 0) | ~x.isfinite(), 0, exponent).to(_core.float64)
