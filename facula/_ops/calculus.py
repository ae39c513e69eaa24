"""Differences, integrals and cumulative sums along a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._out import into

__all__ = ["cumulative_trapezoid", "diff", "gradient", "trapezoid", "trapz"]


def _slice(x: Tensor, dim: int, start: int, stop: int) -> Tensor:
    """``x[start:stop]`` along ``dim``, with ``stop`` counted from the end where negative or 0."""
    size = x.size(dim)
    stop = stop if stop > 0 else size + stop
    return x.narrow(dim, start, stop - start)


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
        input: the values; for bool the difference is "not equal".
        n: how many times to take differences.
        dim: along which dimension.
        prepend: values to put before ``input``.
        append: values to put after ``input``.
        out: where to put the result.

    Example:
        >>> facula.diff(facula.tensor([1, 3, 2]))
        tensor([ 2, -1])
    """
    if input.dim() == 0:
        raise RuntimeError("diff: expected at least one dimension, got a 0-d tensor.")
    if n < 0:
        raise RuntimeError(f"diff: expected n >= 0, got {n}.")
    if n == 0:
        # A tensor of its own; prepend and append are for differences.
        return into("diff", out, _core.zeros_like(input).copy_(input))
    parts = [t for t in (prepend, input, append) if t is not None]
    x = _core.cat(parts, dim) if len(parts) > 1 else input
    for _ in range(min(n, x.size(dim))):
        later, earlier = _slice(x, dim, 1, 0), x.narrow(dim, 0, x.size(dim) - 1)
        x = later != earlier if x.dtype == _core.bool else later - earlier
    return into("diff", out, x)


def _steps(name: str, y: Tensor, x: Tensor | None, dx: float | None, dim: int) -> Tensor | float:
    """Widths of the intervals: a number, or a tensor that broadcasts against ``y``."""
    if x is None:
        return 1 if dx is None else dx
    if dx is not None:
        raise RuntimeError(f"{name}: give x or dx, not both.")
    if x.dim() == 0:
        raise RuntimeError(f"{name}: expected x with at least one dimension.")
    if x.dim() == 1:
        if x.size(0) != y.size(dim):
            raise RuntimeError(
                f"{name}: expected as many points x as values y along dimension {dim}, got "
                f"{x.size(0)} and {y.size(dim)}."
            )
        shape = [1] * y.dim()
        shape[dim] = x.size(0)
        x = x.reshape(shape)
    elif x.dim() < y.dim():
        x = x.reshape([1] * (y.dim() - x.dim()) + list(x.shape))
    n_steps = max(x.size(dim) - 1, 0)
    return x.narrow(dim, x.size(dim) - n_steps, n_steps) - x.narrow(dim, 0, n_steps)


def _check_dim(name: str, y: Tensor, dim: int) -> None:
    n_dims = max(y.dim(), 1)
    if not -n_dims <= dim < n_dims:
        raise IndexError(f"{name}: dim {dim} is out of range for {tuple(y.shape)}.")


def _areas(name: str, y: Tensor, x: Tensor | None, dx: float | None, dim: int) -> Tensor:
    if y.dtype == _core.bool or (x is not None and x.dtype == _core.bool):
        raise RuntimeError(f"{name}: expected numbers, got bool.")
    if y.dim() == 0:
        raise IndexError(f"{name}: expected y with at least one dimension.")
    n_areas = max(y.size(dim) - 1, 0)
    pairs = y.narrow(dim, 0, n_areas) + y.narrow(dim, y.size(dim) - n_areas, n_areas)
    return pairs * _steps(name, y, x, dx, dim) / 2.0


def trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1
) -> Tensor:
    """Integral along a dimension, by the trapezoidal rule.

    Args:
        y: values of the function.
        x: where they were taken; one dimension, or broadcast against ``y``.
        dx: their distance, where ``x`` is not given; 1 by default.
        dim: along which dimension.

    Example:
        >>> facula.trapezoid(facula.tensor([1.0, 5.0, 10.0]))
        tensor(10.5000)
    """
    _check_dim("trapezoid", y, dim)
    if y.dim() == 0:
        raise IndexError("trapezoid: expected y with at least one dimension.")
    if y.size(dim) == 0:
        return _core.zeros_like(y.detach().sum(dim), dtype=y.dtype)
    return _areas("trapezoid", y, x, dx, dim).sum(dim)


trapz = trapezoid


def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1
) -> Tensor:
    """Integral up to each point along a dimension, by the trapezoidal rule.

    Args:
        y: values of the function.
        x: where they were taken; one dimension, or broadcast against ``y``.
        dx: their distance, where ``x`` is not given; 1 by default.
        dim: along which dimension.

    Shape:
        as ``y``, one shorter in ``dim``.

    Example:
        >>> facula.cumulative_trapezoid(facula.tensor([1.0, 5.0, 10.0]))
        tensor([ 3.0000, 10.5000])
    """
    _check_dim("cumulative_trapezoid", y, dim)
    return _areas("cumulative_trapezoid", y, x, dx, dim).cumsum(dim)


def gradient(
    input: Tensor,
    *,
    spacing: Any = 1,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> list[Tensor]:
    """Derivatives along dimensions, estimated by central differences of second order.

    Args:
        input: values of the function on a grid.
        spacing: the distance of the grid's points, for all dimensions or for each; or for each
            dimension the coordinates of the points.
        dim: along which dimensions; all by default.
        edge_order: order of the one-sided differences at the edges, 1 or 2.

    Returns:
        a list with one derivative, shaped as ``input``, for each dimension.

    Example:
        >>> facula.gradient(facula.tensor([1.0, 4.0, 9.0, 16.0]))
        (tensor([3., 4., 6., 7.]),)
    """
    chosen = range(input.dim()) if dim is None else dim
    dims = [chosen] if isinstance(chosen, int) else list(chosen)
    if input.dtype == _core.uint8:
        raise RuntimeError("gradient: expected signed numbers, got uint8.")
    for d in dims:
        _check_dim("gradient", input, d)
    if len({d % max(input.dim(), 1) for d in dims}) != len(dims):
        raise RuntimeError(f"gradient: a dimension appears twice in {dims}.")
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient: expected edge_order 1 or 2, got {edge_order}.")
    spacings = _spacings(spacing, dims)
    results = []
    for d, step in zip(dims, spacings, strict=True):
        if input.size(d) < edge_order + 1:
            raise RuntimeError(
                f"gradient: expected at least {edge_order + 1} points in dimension {d}, got "
                f"shape {tuple(input.shape)}."
            )
        results.append(_derivative(input, step, d, edge_order))
    return tuple(results)  # type: ignore[return-value]


def _spacings(spacing: Any, dims: list[int]) -> list[Any]:
    if spacing is None:
        spacing = 1
    if isinstance(spacing, (list, tuple)):
        if len(spacing) != len(dims):
            raise RuntimeError(
                f"gradient: expected a spacing for each of {len(dims)} dimensions, got "
                f"{len(spacing)}."
            )
        return list(spacing)
    return [spacing] * len(dims)


def _derivative(f: Tensor, spacing: Any, dim: int, edge_order: int) -> Tensor:
    n = f.size(dim)
    if isinstance(spacing, Tensor):
        shape = [1] * f.dim()
        shape[dim] = n
        h = (_slice(spacing, 0, 1, 0) - spacing.narrow(0, 0, n - 1)).to(f.dtype)
        shape[dim] = n - 1
        steps = h.reshape(shape)
    else:
        steps = _core.full([1] * f.dim(), spacing, dtype=_promoted(f, spacing), device=f.device)
        shape = [1] * f.dim()
        shape[dim] = n - 1
        steps = steps.expand(shape)
    slopes = (_slice(f, dim, 1, 0) - f.narrow(dim, 0, n - 1)) / steps
    first, last = slopes.narrow(dim, 0, 1), slopes.narrow(dim, n - 2, 1)
    if n == 2:
        return _core.cat([first, last], dim)
    before, after = steps.narrow(dim, 0, n - 2), _slice(steps, dim, 1, 0)
    # The two slopes beside a point, each weighted by the length of the other's interval.
    left, right = slopes.narrow(dim, 0, n - 2), _slice(slopes, dim, 1, 0)
    middle = (left * after + right * before) / (before + after)
    if edge_order == 2:
        first = _slope_at_edge(f, steps, dim, 0, 1)
        last = -_slope_at_edge(f, steps, dim, n - 1, -1)
    return _core.cat([first, middle, last], dim)


def _slope_at_edge(f: Tensor, steps: Tensor, dim: int, edge: int, inwards: int) -> Tensor:
    """Inwards, at the edge of the parabola through the three nearest points."""
    y0, y1, y2 = (f.narrow(dim, edge + inwards * i, 1) for i in range(3))
    nearest = edge if inwards > 0 else edge - 1  # the interval at the edge
    h0, h1 = (steps.narrow(dim, nearest + inwards * i, 1) for i in range(2))
    a, b, c = -(2 * h0 + h1) / (h0 * (h0 + h1)), (h0 + h1) / (h0 * h1), -h0 / (h1 * (h0 + h1))
    terms = (a * y0, b * y1, c * y2)[::inwards]  # added up in the order of the points
    return terms[0] + terms[1] + terms[2]


def _promoted(f: Tensor, spacing: Any) -> Any:
    if f.is_floating_point() or f.is_complex():
        return f.dtype
    return _core.get_default_dtype()
