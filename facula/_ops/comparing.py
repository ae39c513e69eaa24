"""Comparing with tolerance, membership, counting and searching."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from facula import _core
from facula._core import Tensor
from facula._limits import finfo
from facula._ops._out import into

__all__ = [
    "allclose",
    "bincount",
    "count_nonzero",
    "float_power",
    "histc",
    "histogram",
    "isclose",
    "isin",
]


def isclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Whether elements are equal within ``atol + rtol * |other|``.

    Args:
        input: one side.
        other: the other, of the same dtype.
        rtol: relative tolerance.
        atol: absolute tolerance.
        equal_nan: two NaN count as equal.

    Example:
        >>> facula.isclose(facula.tensor([1.0, 2.0]), facula.tensor([1.0 + 1e-9, 2.1]))
        tensor([ True, False])
    """
    for given in (input, other):
        if not isinstance(given, Tensor):
            raise TypeError(f"isclose: expected two tensors, got {type(given).__name__}.")
    if input.dtype != other.dtype:
        raise RuntimeError(
            f"isclose: expected inputs of one dtype, got {input.dtype} and {other.dtype}."
        )
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"isclose: expected tolerances >= 0, got rtol={rtol}, atol={atol}.")
    close = input == other
    is_inexact = input.is_floating_point() or input.is_complex()
    if equal_nan and is_inexact:
        close = close | (input.isnan() & other.isnan())
    if rtol == 0 and atol == 0:
        return close
    # Unsigned integers would wrap around in the subtraction.
    reference = other if is_inexact else other.to(_core.get_default_dtype())
    allowed = atol + (rtol * reference).abs()
    difference = (input.to(reference.dtype) - reference).abs()
    return close | (difference.isfinite() & (difference <= allowed))


def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Whether all elements are equal within ``atol + rtol * |other|``; see :func:`isclose`.

    Example:
        >>> facula.allclose(facula.tensor([1.0, 2.0]), facula.tensor([1.0 + 1e-9, 2.0]))
        True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def isin(
    elements: Any,
    test_elements: Any,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Whether each element is among ``test_elements``.

    Args:
        elements: a tensor or a number.
        test_elements: a tensor or a number; at most one of the two is a number.
        assume_unique: accepted for compatibility; a promise that makes nothing faster here.
        invert: give the opposite.
        out: where to put the result, of dtype bool.

    Example:
        >>> facula.isin(facula.tensor([1, 2, 3]), facula.tensor([2, 5]))
        tensor([False,  True, False])
    """
    if not isinstance(elements, Tensor):
        if not isinstance(test_elements, Tensor):
            raise TypeError("isin: expected a tensor, got two numbers.")
        elements = _core.tensor(elements, device=test_elements.device)
    if not isinstance(test_elements, Tensor):
        test_elements = _core.tensor(test_elements, device=elements.device)
    for given in (elements, test_elements):
        if given.dtype == _core.bool or given.is_complex():
            raise RuntimeError(f"isin: expected real numbers, got {given.dtype}.")
    if out is not None and out.dtype != _core.bool:
        raise RuntimeError(f"isin: expected out of dtype bool, got {out.dtype}.")
    dtype = _core.promote_types(elements.dtype, test_elements.dtype)
    values, tests = elements.detach().to(dtype), test_elements.detach().to(dtype).reshape(-1)
    if tests.is_floating_point():
        # NaN equals nothing, and has no place in an order.
        tests = tests[~tests.isnan()]
    if tests.numel() == 0:
        found = _core.zeros(values.shape, dtype=_core.bool, device=values.device)
    else:
        ordered = tests.sort()[0]
        place = _core.searchsorted(ordered, values.reshape(-1))
        found = ordered[place.clamp_max(tests.numel() - 1)].reshape(values.shape) == values
    return into("isin", out, ~found if invert else found)


def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """Number of elements that are not zero.

    Args:
        input: the elements.
        dim: the dimensions to count along; all by default.

    Example:
        >>> facula.count_nonzero(facula.tensor([[0, 1], [2, 3]]), dim=0)
        tensor([1, 2])
    """
    is_nonzero = input != 0
    return is_nonzero.sum() if dim is None else is_nonzero.sum(dim)


def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent``, computed in double precision.

    Args:
        input: a tensor or a number.
        exponent: a tensor or a number; at most one of the two is a number.
        out: where to put the result.

    Example:
        >>> facula.float_power(facula.tensor([1, 2, 3]), 2)
        tensor([1., 4., 9.], dtype=torch.float64)
    """
    dtype = _power_dtype(input, exponent)
    base, power = (x.to(dtype) if isinstance(x, Tensor) else x for x in (input, exponent))
    if out is not None and out.dtype != dtype:
        raise RuntimeError(f"float_power: expected out of {dtype}, got {out.dtype}.")
    return into("float_power", out, _core.pow(base, power))


def _power_dtype(input: Any, exponent: Any) -> Any:
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError("float_power: expected at least one tensor, got two numbers.")
    is_complex = any(
        x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex)
        for x in (input, exponent)
    )
    return _core.complex128 if is_complex else _core.float64


def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """As :func:`float_power`, in a tensor that is in double precision already."""
    dtype = _power_dtype(self, exponent)
    if self.dtype != dtype:
        raise RuntimeError(f"float_power_: the result is {dtype}, but the tensor {self.dtype}.")
    return self.pow_(exponent.to(dtype) if isinstance(exponent, Tensor) else exponent)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 on occurs.

    Args:
        input: a vector of integers, none negative.
        weights: what each occurrence counts; 1 by default.
        minlength: smallest length of the result.

    Example:
        >>> facula.bincount(facula.tensor([0, 1, 1, 3]))
        tensor([1, 2, 0, 1])
    """
    if input.is_floating_point() or input.is_complex() or input.dtype == _core.bool:
        raise NotImplementedError(f"bincount: expected integers, got {input.dtype}.")
    if input.dim() != 1:
        raise RuntimeError(f"bincount: expected a vector, got shape {tuple(input.shape)}.")
    if minlength < 0:
        raise RuntimeError(f"bincount: expected minlength >= 0, got {minlength}.")
    if input.numel() == 0:
        return _core.zeros(minlength, dtype=_core.int64, device=input.device)
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError(
            f"bincount: expected weights of shape {tuple(input.shape)}, got {tuple(weights.shape)}."
        )
    if weights is None:
        counted = _core.ones((), dtype=_core.int64, device=input.device).expand_as(input)
    else:
        counted = weights if weights.dtype == _core.float32 else weights.double()
    index = input.to(_core.int64)
    least, largest = (int(end) for end in index.aminmax())
    if least < 0:
        raise RuntimeError(f"bincount: expected no negative number, got {least}.")
    length = max(largest + 1, minlength)
    result = _core.zeros(length, dtype=counted.dtype, device=input.device)
    return result.scatter_add_(0, index, counted.detach())


def _range(name: str, input: Tensor, low: float, high: float, margin: float) -> tuple[float, float]:
    """The given range; that of the elements where it is empty, widened where those are equal."""
    if low == high and input.numel() > 0:
        low, high = float(input.min()), float(input.max())
    if low == high:
        low, high = low - margin, high + margin
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name}: the range from {low} to {high} is not finite.")
    if low > high:
        raise RuntimeError(f"{name}: expected min <= max, got {low} and {high}.")
    return low, high


def histc(
    input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Tensor | None = None
) -> Tensor:
    """How many elements fall into each of equal intervals.

    Args:
        input: the elements, floating point; those outside the range are ignored.
        bins: number of intervals.
        min: lower end of the range.
        max: upper end, included; where both are equal, the range of the elements is taken.
        out: where to put the result.

    Example:
        >>> facula.histc(facula.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
        tensor([0., 2., 1., 0.])
    """
    if out is not None and out.dtype != input.dtype:
        raise RuntimeError(f"histc: expected out of dtype {input.dtype}, got {out.dtype}.")
    if not input.is_floating_point():
        raise NotImplementedError(f"histc: expected a floating-point input, got {input.dtype}.")
    if bins <= 0:
        raise RuntimeError(f"histc: expected bins > 0, got {bins}.")
    x = input.detach().reshape(-1)
    low, high = (float(_core.scalar_tensor(end, dtype=x.dtype)) for end in (min, max))
    low, high = _range("histc", x, low, high, margin=1)
    if (high - low) * bins > finfo(x.dtype).max / 2:
        # Everything is made smaller, where nothing overflows.
        x, low, high = x.double() * 2.0**-128, low * 2.0**-128, high * 2.0**-128
    # Counted in integers: 16-bit floats have no 2049 or 257.
    if x.device.type == "cpu" and x.dtype in (_core.float32, _core.float64):
        return into("histc", out, _core._count_bins(x, bins, low, high).to(input.dtype))
    # The upper end belongs to the last interval; what lies outside is counted behind it.
    place = ((x - low) * bins / (high - low)).to(_core.int64).clamp_max(bins - 1)
    place = _core.where((x >= low) & (x <= high), place, bins)
    counts = _core.zeros(bins + 1, dtype=_core.int64, device=input.device)
    counts.scatter_add_(0, place, _core.ones_like(place))
    return into("histc", out, counts[:bins].to(input.dtype))


class Histogram(NamedTuple):
    """What :func:`histogram` returns."""

    hist: Tensor
    bin_edges: Tensor


def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: tuple[float, float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: tuple[Tensor, Tensor] | None = None,
) -> Histogram:
    """How many elements fall into each interval, and the intervals' edges.

    Args:
        input: the elements, floating point; those outside are ignored.
        bins: number of equal intervals, or a vector of increasing edges.
        range: the ends of equal intervals; by default the range of the elements.
        weight: what each element counts; 1 by default.
        density: divide so that the integral is 1.
        out: where to put counts and edges.

    Example:
        >>> facula.histogram(facula.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 4.0)).hist
        tensor([2., 1.])
    """
    if out is not None and not (isinstance(out, (tuple, list)) and len(out) == 2):
        raise TypeError("histogram: expected out as a pair of tensors, for counts and edges.")
    if input.dtype not in (_core.float32, _core.float64):
        raise NotImplementedError(
            f"histogram: expected an input of float32 or float64, got {input.dtype}."
        )
    if weight is not None and weight.shape != input.shape:
        raise RuntimeError(
            f"histogram: expected weight of shape {tuple(input.shape)}, got {tuple(weight.shape)}."
        )
    x = input.detach().reshape(-1)
    if isinstance(bins, Tensor):
        edges = bins.to(input.dtype)
    else:
        if bins <= 0:
            raise RuntimeError(f"histogram: expected bins > 0, got {bins}.")
        if range is None and x.numel() == 0:
            range = (0.0, 1.0)
        ends = _range("histogram", x, *(range or (0.0, 0.0)), margin=0.5)
        edges = _core.linspace(*ends, bins + 1, dtype=input.dtype, device=input.device)
    amount = _core.ones_like(x) if weight is None else weight.detach().reshape(-1)
    is_inside = (x >= edges[0]) & (x <= edges[-1])
    x, amount = x[is_inside], amount[is_inside]
    n_bins = edges.numel() - 1
    place = (_core.searchsorted(edges, x, right=True) - 1).clamp_max(n_bins - 1)
    counts = _core.zeros(n_bins, dtype=input.dtype, device=input.device)
    counts.scatter_add_(0, place, amount)
    if density:
        counts = counts / counts.sum() / edges.diff()
    if out is not None:
        return Histogram(into("histogram", out[0], counts), into("histogram", out[1], edges))
    return Histogram(counts, edges)
