"""Pointwise operations: powers, the parts of numbers, and differences of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._arguments import type_name, wrap_dim
from facula._ops._mark import operation
from facula._ops._out import into


@operation(method=True)
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent``, computed in double precision.

    Args:
        input: the base: a tensor, or a number if ``exponent`` is a tensor.
        exponent: the exponent: a tensor, or a number if ``input`` is a tensor.
        out: where to put the result, a tensor in double precision.

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
    for name, x in (("input", input), ("exponent", exponent)):
        if not isinstance(x, (Tensor, Number)):
            raise TypeError(
                f"float_power: expected a tensor or a number as {name}, got {type_name(x)}."
            )
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError("float_power: expected at least one tensor, got two numbers.")
    is_complex = any(
        x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex)
        for x in (input, exponent)
    )
    return _core.complex128 if is_complex else _core.float64


@operation(method="only")
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """``float_power`` in place, in a tensor that is in double precision already.

    Args:
        exponent: a tensor or a number.

    Example:
        >>> facula.tensor([1, 2, 3], dtype=facula.float64).float_power_(2)
        tensor([1., 4., 9.], dtype=torch.float64)
    """
    dtype = _power_dtype(self, exponent)
    if self.dtype != dtype:
        raise RuntimeError(f"float_power_: the result is {dtype}, but the tensor {self.dtype}.")
    return self.pow_(exponent.to(dtype) if isinstance(exponent, Tensor) else exponent)


@operation(method=True)
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along a dimension.

    Args:
        input: the values; the difference of two bools is whether they differ.
        n: how many times to take differences.
        dim: the dimension whose neighbours are subtracted.
        prepend: values to put before ``input`` along ``dim``.
        append: values to put after ``input`` along ``dim``.
        out: where to put the result.

    Example:
        >>> facula.diff(facula.tensor([1, 3, 2]))
        tensor([ 2, -1])
    """
    if input.dim() == 0:
        raise RuntimeError("diff: expected at least one dimension, got a 0-d tensor.")
    if n < 0:
        raise RuntimeError(f"diff: expected n >= 0, got {n}.")
    for name, more in (("prepend", prepend), ("append", append)):
        if more is not None and more.dim() != input.dim():
            raise RuntimeError(
                f"diff: expected {name} of as many dimensions as the input, {input.dim()}, got "
                f"{more.dim()}."
            )
    if n == 0:
        # A tensor of its own; prepend and append are for differences.
        return into("diff", out, _core.zeros_like(input).copy_(input))
    parts = [t for t in (prepend, input, append) if t is not None]
    x = _core.cat(parts, dim) if len(parts) > 1 else input
    for _ in range(min(n, x.size(dim))):
        later, earlier = _without_first(x, dim), x.narrow(dim, 0, x.size(dim) - 1)
        x = later != earlier if x.dtype == _core.bool else later - earlier
    return into("diff", out, x)


@operation
def gradient(
    input: Tensor,
    *,
    spacing: Any = 1,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> list[Tensor]:
    """Derivatives along dimensions, estimated by central differences of second order.

    Args:
        input: the values of the function on a grid.
        spacing: the distance between the points of the grid, one number for all dimensions or one
            for each; or for each dimension the coordinates of its points.
        dim: the dimensions to differentiate along; all by default.
        edge_order: the order of the one-sided differences at the edges, 1 or 2.

    Returns:
        One derivative, shaped as ``input``, for each dimension.

    Example:
        >>> facula.gradient(facula.tensor([1.0, 4.0, 9.0, 16.0]))
        (tensor([3., 4., 6., 7.]),)
    """
    chosen = range(input.dim()) if dim is None else dim
    dims = [chosen] if isinstance(chosen, int) else list(chosen)
    if input.dtype == _core.uint8:
        raise RuntimeError("gradient: expected signed numbers, got uint8.")
    if len({wrap_dim("gradient", input, d) for d in dims}) != len(dims):
        raise RuntimeError(f"gradient: a dimension appears twice in {dims}.")
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient: expected edge_order 1 or 2, got {edge_order}.")
    results = []
    for d, step in zip(dims, _spacings(spacing, dims), strict=True):
        if input.size(d) < edge_order + 1:
            raise RuntimeError(
                f"gradient: expected at least {edge_order + 1} points in dimension {d}, got "
                f"shape {tuple(input.shape)}."
            )
        results.append(_derivative(input, step, d, edge_order))
    return tuple(results)  # type: ignore[return-value]


def _spacings(spacing: Any, dims: list[int]) -> list[Any]:
    if isinstance(spacing, Tensor) and spacing.dim() == 0:
        spacing = spacing.item()  # a number, not the places of points
    if not isinstance(spacing, (list, tuple)):
        return [1 if spacing is None else spacing] * len(dims)
    if len(spacing) != len(dims):
        raise RuntimeError(
            f"gradient: expected a spacing for each of {len(dims)} dimensions, got {len(spacing)}."
        )
    return list(spacing)


def _derivative(f: Tensor, spacing: Any, dim: int, edge_order: int) -> Tensor:
    n = f.size(dim)
    shape = [1] * f.dim()
    shape[dim] = n - 1
    if isinstance(spacing, Tensor):
        widths = _without_first(spacing, 0) - spacing.narrow(0, 0, n - 1)
        steps = widths.to(f.dtype).reshape(shape)
    else:
        is_inexact = f.is_floating_point() or f.is_complex()
        dtype = f.dtype if is_inexact else _core.get_default_dtype()
        steps = _core.full((), spacing, dtype=dtype, device=f.device).expand(shape)
    first, last = (
        (f.narrow(dim, i + 1, 1) - f.narrow(dim, i, 1)) / steps.narrow(dim, i, 1)
        for i in (0, n - 2)
    )
    if n == 2:
        return _core.cat([first, last], dim)
    if isinstance(spacing, Tensor):
        # The two slopes beside a point, each weighted by the length of the other's interval.
        slopes = (_without_first(f, dim) - f.narrow(dim, 0, n - 1)) / steps
        left, right = slopes.narrow(dim, 0, n - 2), _without_first(slopes, dim)
        before, after = steps.narrow(dim, 0, n - 2), _without_first(steps, dim)
        middle = (left * after + right * before) / (before + after)
    else:
        middle = (f.narrow(dim, 2, n - 2) - f.narrow(dim, 0, n - 2)) / (2 * spacing)
    if edge_order == 2:
        first = _slope_at_edge(f, steps, dim, 0, 1)
        last = -_slope_at_edge(f, steps, dim, n - 1, -1)
    return _core.cat([first, middle, last], dim)


def _slope_at_edge(f: Tensor, steps: Tensor, dim: int, edge: int, inwards: int) -> Tensor:
    """The slope, inwards, of the parabola through the three points nearest to the edge."""
    y0, y1, y2 = (f.narrow(dim, edge + inwards * i, 1) for i in range(3))
    nearest = edge if inwards > 0 else edge - 1  # the interval at the edge
    h0, h1 = (steps.narrow(dim, nearest + inwards * i, 1) for i in range(2))
    a, b, c = -(2 * h0 + h1) / (h0 * (h0 + h1)), (h0 + h1) / (h0 * h1), -h0 / (h1 * (h0 + h1))
    terms = (a * y0, b * y1, c * y2)[::inwards]  # added up in the order of the points
    return terms[0] + terms[1] + terms[2]


def _without_first(x: Tensor, dim: int) -> Tensor:
    return x.narrow(dim, 1, x.size(dim) - 1)
