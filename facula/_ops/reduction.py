"""Reductions: means, norms, integrals and counts of elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from facula import _core, return_types
from facula._core import Tensor
from facula._limits import finfo
from facula._ops._arguments import wrap_dim
from facula._ops._mark import looks_at_values, operation
from facula._ops._out import into, named


@operation(method=True)
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """Number of elements that are not zero.

    Args:
        input: the elements to count.
        dim: the dimensions to count along; all by default.

    Example:
        >>> facula.count_nonzero(facula.tensor([[0, 1], [2, 3]]), dim=0)
        tensor([1, 2])
    """
    is_nonzero = input if input.dtype == _core.bool else input != 0
    return is_nonzero.sum() if dim is None else is_nonzero.sum(dim)


@operation(method=True)
def nanmean(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """Mean of the elements that are not NaN.

    Args:
        input: the elements, floating point.
        dim: the dimensions to average over; all by default.
        keepdim: whether these dimensions stay in the result, with size 1.
        dtype: the dtype of the result; that of ``input`` by default.
        out: where to put the result.

    Example:
        >>> facula.nanmean(facula.tensor([1.0, facula.nan, 2.0]))
        tensor(1.5000)
    """
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"nanmean: expected a floating-point input, got {input.dtype}.")
    if isinstance(dim, (tuple, list)) and not dim:
        dim = None
    dims = list(range(input.dim())) if dim is None else dim
    count = (~input.isnan()).sum(dims, keepdim)
    if input.is_complex():
        raise RuntimeError(f"nanmean: not available for complex numbers, got {input.dtype}.")
    total = input.masked_fill(input.isnan(), 0).sum(dims, keepdim, dtype=dtype)
    return into("nanmean", out, total / count)


@operation(method=True)
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The ``p``-norm of ``input - other``, over all elements.

    Args:
        input: one tensor.
        other: another tensor, broadcast with ``input``.
        p: the order of the norm.

    Example:
        >>> facula.dist(facula.tensor([0.0, 3.0]), facula.tensor([4.0, 0.0]))
        tensor(5.)
    """
    return named("DistBackward0", (input - other).norm(p))


@operation
@looks_at_values
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """Reduce pieces of different lengths that lie behind each other along a dimension.

    Args:
        data: the elements, floating point.
        reduce: ``"sum"``, ``"mean"``, ``"max"``, ``"min"`` or ``"prod"``.
        lengths: the length of each piece; together they are all of the dimension.
        indices: not available.
        offsets: where each piece begins and the last one ends, in the place of ``lengths``.
        axis: the dimension of the pieces, which is the last one of ``lengths``.
        unsafe: has no effect: the lengths are always checked.
        initial: what each reduction begins with.

    Shape:
        data ``(*, N, ...)`` and lengths ``(*, S)``; result ``(*, S, ...)``.

    Example:
        >>> data = facula.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
        >>> facula.segment_reduce(data, "sum", lengths=facula.tensor([2, 3]))
        tensor([ 3., 12.])
    """
    starts = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
    if reduce not in starts:
        raise RuntimeError(f"segment_reduce: expected one of {', '.join(starts)}, got {reduce!r}.")
    if not data.is_floating_point():
        raise NotImplementedError(f"segment_reduce: not implemented for {data.dtype}.")
    counts = _segment_lengths(data, lengths, indices, offsets, axis)
    places = _core.arange(counts.numel(), device=data.device).repeat_interleave(counts.flatten())
    n_segments = counts.size(-1)
    places = places.remainder(max(n_segments, 1)).view(data.shape[: axis + 1])
    rest = (1,) * (data.dim() - counts.dim())
    places = places.view(*places.shape, *rest).expand(data.shape)
    shape = (*counts.shape, *data.shape[counts.dim() :])
    start = starts[reduce] if initial is None else initial
    result = _core.full(shape, start, dtype=data.dtype, device=data.device)
    if reduce in ("sum", "mean"):
        result = result.scatter_add(axis, places, data)
    elif reduce == "prod":
        result = result.scatter_reduce(axis, places, data, "prod")
    else:
        # Without the start: at a tie the gradient is the element's.
        found = result.scatter_reduce(axis, places, data, f"a{reduce}", include_self=False)
        is_behind = found < start if reduce == "max" else found > start
        result = found.masked_fill(is_behind, start)
    if reduce == "mean":
        # An empty piece has no mean, unless it begins with something.
        divisors = counts if initial is None else counts.clamp_min(1)
        result = result / divisors.view(*counts.shape, *rest)
    return named("SegmentReduceBackward0", result)


def _segment_lengths(
    data: Tensor, lengths: Tensor | None, indices: Any, offsets: Tensor | None, axis: int
) -> Tensor:
    if indices is not None or (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce: expected either lengths or offsets, and no indices.")
    given: Any = offsets if lengths is None else lengths
    if given.dtype not in (_core.int64, _core.int32):
        raise NotImplementedError(f"segment_reduce: expected int64 or int32, got {given.dtype}.")
    if given.dim() > data.dim() or axis != given.dim() - 1 or given.shape[:-1] != data.shape[:axis]:
        raise RuntimeError(
            "segment_reduce: expected axis to be the last dimension of lengths, and the dimensions "
            f"before it to be those of data, got data {tuple(data.shape)}, lengths "
            f"{tuple(given.shape)} and axis={axis}."
        )
    counts: Tensor = given.diff() if lengths is None else given
    is_whole = (counts >= 0).all() and (counts.sum(-1) == data.size(axis)).all()
    if not is_whole:
        raise RuntimeError(
            f"segment_reduce: expected lengths that are not negative and sum to {data.size(axis)}, "
            f"the size of dimension {axis}, got {counts.tolist()}."
        )
    return counts


@operation
def trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1
) -> Tensor:
    """Integral along a dimension, by the trapezoidal rule.

    Args:
        y: the values of the function.
        x: the points where the values were taken: a vector, or a tensor broadcast with ``y``.
        dx: the distance between points, where ``x`` is not given; 1 by default.
        dim: the dimension to integrate along.

    Example:
        >>> facula.trapezoid(facula.tensor([1.0, 5.0, 10.0]))
        tensor(10.5000)
    """
    wrap_dim("trapezoid", y, dim)
    if y.dim() == 0:
        raise IndexError("trapezoid: expected y with at least one dimension.")
    if y.size(dim) == 0:
        return _core.zeros_like(y.detach().sum(dim), dtype=y.dtype)
    if x is None and y.dtype != _core.bool:
        # Every value belongs to two areas, those at the ends to one.
        ends = y.select(dim, 0) + y.select(dim, -1)
        area = (y.sum(dim) - ends * 0.5) * (1 if dx is None else dx)
        return named("MulBackward1", area)
    return _areas("trapezoid", y, x, dx, dim).sum(dim)


trapz = trapezoid


@operation
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1
) -> Tensor:
    """Integral up to each point along a dimension, by the trapezoidal rule.

    Args:
        y: the values of the function.
        x: the points where the values were taken: a vector, or a tensor broadcast with ``y``.
        dx: the distance between points, where ``x`` is not given; 1 by default.
        dim: the dimension to integrate along.

    Shape:
        The result is shaped as ``y``, but shorter by one in ``dim``.

    Example:
        >>> facula.cumulative_trapezoid(facula.tensor([1.0, 5.0, 10.0]))
        tensor([ 3.0000, 10.5000])
    """
    wrap_dim("cumulative_trapezoid", y, dim)
    return _areas("cumulative_trapezoid", y, x, dx, dim).cumsum(dim)


def _areas(name: str, y: Tensor, x: Tensor | None, dx: float | None, dim: int) -> Tensor:
    """The areas of the trapezoids between neighbouring points."""
    if y.dtype == _core.bool or (x is not None and x.dtype == _core.bool):
        raise RuntimeError(f"{name}: expected numbers, got bool.")
    if y.dim() == 0:
        raise IndexError(f"{name}: expected y with at least one dimension.")
    n_areas = max(y.size(dim) - 1, 0)
    pairs = y.narrow(dim, 0, n_areas) + y.narrow(dim, y.size(dim) - n_areas, n_areas)
    steps = _steps(name, y, x, dx, dim)
    if isinstance(steps, Tensor) or not (y.is_floating_point() or y.is_complex()):
        return pairs * steps / 2.0
    return pairs * (steps / 2)  # the same but for overflows, as halves are exact


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


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@operation(method=True)
@looks_at_values
def quantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The value below which a share ``q`` of the elements lies.

    Args:
        input: the elements, float32 or float64.
        q: a probability, or a vector of them, which becomes the first dimension of the result.
        dim: the dimension to look along; all elements by default.
        keepdim: whether to keep the reduced dimensions with size 1.
        interpolation: what to give for a place between two elements: ``"linear"``, ``"lower"``,
            ``"higher"``, ``"midpoint"`` or ``"nearest"``.
        out: where to put the result.

    Example:
        >>> facula.quantile(facula.tensor([0.0, 1.0, 2.0]), 0.25)
        tensor(0.5000)
    """
    return into("quantile", out, _quantile("quantile", input, q, dim, keepdim, interpolation))


@operation(method=True)
@looks_at_values
def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The value below which a share ``q`` of the elements that are not NaN lies.

    Args:
        input: the elements, float32 or float64.
        q: a probability, or a vector of them, which becomes the first dimension of the result.
        dim: the dimension to look along; all elements by default.
        keepdim: whether to keep the reduced dimensions with size 1.
        interpolation: what to give for a place between two elements: ``"linear"``, ``"lower"``,
            ``"higher"``, ``"midpoint"`` or ``"nearest"``.
        out: where to put the result.

    Example:
        >>> facula.nanquantile(facula.tensor([0.0, facula.nan, 2.0]), 0.5)
        tensor(1.)
    """
    return into("nanquantile", out, _quantile("nanquantile", input, q, dim, keepdim, interpolation))


def _quantile(
    name: str,
    input: Tensor,
    q: float | Tensor,
    dim: int | None,
    keepdim: bool,
    interpolation: str,
) -> Tensor:
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}: expected 'linear', 'lower', 'higher', 'midpoint' or 'nearest' as "
            f"interpolation, got '{interpolation}'."
        )
    given = f"{str(input.dtype).rpartition('.')[2]} {tuple(input.shape)}"
    if input.dtype not in (_core.float32, _core.float64):
        raise RuntimeError(f"{name}: expected an input of float32 or float64, got {given}.")
    if not isinstance(q, Tensor):
        q = _core.tensor(q, dtype=input.dtype, device=input.device)
    if q.dim() > 1:
        raise RuntimeError(f"{name}: expected a number or a vector as q, got {tuple(q.shape)}.")
    if q.dtype != input.dtype:
        raise RuntimeError(
            f"{name}: expected q of the input's dtype, got {q.dtype} and {input.dtype}."
        )
    if input.numel() == 0:
        raise RuntimeError(f"{name}: expected an input with elements, got {given}.")
    is_wrong = (q.detach() < 0) | ~(q.detach() <= 1)
    if not q.is_meta and is_wrong.any():
        raise RuntimeError(
            f"{name}: expected q from 0 to 1, got {q.detach()[is_wrong].flatten()[0].item():g}."
        )
    x = _lines_last(name, input, dim, keepdim)
    # Where in the sorted lines the quantiles lie. NaN sorts last: the last place gives it.
    values, order = x.detach().sort(-1)
    last = x.size(-1) - 1
    if name == "nanquantile":
        n_nan = values.isnan().sum(-1, True)
        top, is_nan = last - n_nan, n_nan > last  # the rank of the largest number
    else:
        top, is_nan = last, values.narrow(-1, last, 1).isnan()
    rank = _core.where(is_nan, float(last), q.reshape(-1) * top).to(x.dtype)
    rounded = rank.detach()
    if interpolation in ("lower", "higher", "nearest"):
        of_rank = {"lower": rounded.floor, "higher": rounded.ceil, "nearest": rounded.round}
        rounded = of_rank[interpolation]()
    low = rounded.floor()
    y = x.gather(-1, order.gather(-1, low.long()))
    if interpolation in ("linear", "midpoint"):
        weight = rank - low if interpolation == "linear" else 0.5
        y = y + weight * (x.gather(-1, order.gather(-1, rounded.ceil().long())) - y)
    # The quantiles come first, then what is left of the input's shape.
    return y.select(-1, 0) if q.dim() == 0 else y.permute(-1, *range(y.dim() - 1))


def _lines_last(name: str, x: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The elements to put in order in the last dimension, before it the shape of one quantile."""
    if dim is not None:
        dim = wrap_dim(name, x, dim)
        if x.dim():
            return x.unsqueeze(-1).transpose(dim, -1) if keepdim else x.movedim(dim, -1)
    return x.reshape(*(1,) * (x.dim() if keepdim else 0), -1)


@operation(method=True)
@looks_at_values
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 on occurs.

    Args:
        input: a vector of integers, none of them negative.
        weights: how much each occurrence counts; 1 by default.
        minlength: the smallest length of the result, which is filled up with zeros.

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
        return _core._count_numbers(input, minlength)
    index = input.to(_core.int64)
    least, largest = (int(end) for end in index.aminmax())
    if least < 0:
        raise RuntimeError(f"bincount: expected no negative number, got {least}.")
    counted = weights if weights.dtype == _core.float32 else weights.double()
    length = max(largest + 1, minlength)
    result = _core.zeros(length, dtype=counted.dtype, device=input.device)
    return result.scatter_add_(0, index, counted.detach())


@operation(method=True)
@looks_at_values
def histc(
    input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Tensor | None = None
) -> Tensor:
    """How many elements fall into each of equal intervals.

    Args:
        input: the elements, floating point; those outside the range are ignored.
        bins: the number of intervals.
        min: the lower end of the range.
        max: the upper end of the range, which is included. Where it equals ``min``, the range is
            that of the elements.
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
    low, high = (float(_core.scalar_tensor(end, dtype=x.dtype, device="cpu")) for end in (min, max))
    if low == high and x.numel() > 0:
        low, high = _ends_of(x)
    low, high = _range("histc", low, high, margin=1)
    if (high - low) * bins > finfo(x.dtype).max / 2:
        # Everything is made smaller, where nothing overflows.
        x, low, high = x.double() * 2.0**-128, low * 2.0**-128, high * 2.0**-128
    if x.dtype in (_core.float16, _core.bfloat16):
        x = x.float()  # in 16 bits, an element's place in the range is rounded past ends of bins
    # Counted in integers: 16-bit floats have no 2049 or 257.
    return into("histc", out, _core._count_bins(x, bins, low, high).to(input.dtype))


@operation(method=True)
@looks_at_values
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: tuple[float, float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: tuple[Tensor, Tensor] | None = None,
) -> Any:
    """How many elements fall into each interval, and the intervals' edges.

    Args:
        input: the elements, float32 or float64; those outside the intervals are ignored.
        bins: the number of intervals of equal width, or a vector of increasing edges.
        range: the ends of the range that is cut into equal intervals; by default the elements' own.
        weight: how much each element counts; 1 by default.
        density: whether the counts are divided so that the integral over the intervals is 1.
        out: a pair of tensors, for the counts and for the edges.

    Returns:
        ``hist``, the counts, and ``bin_edges``.

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
        edges = _given_edges("histogram", input, bins).clone()
    else:
        edges = _edges("histogram", x, bins, range)
    amount = _core.ones_like(x) if weight is None else weight.detach().reshape(-1)
    if isinstance(bins, Tensor) or range is not None:  # else all elements are inside
        amount = _core.where((x >= edges[0]) & (x <= edges[-1]), amount, 0)
    n_bins = edges.numel() - 1
    place = _core.searchsorted(edges, x, right=True).sub_(1).clamp_(0, n_bins - 1)
    counts = _core.zeros(n_bins, dtype=input.dtype, device=input.device)
    counts = counts.scatter_add_(0, place, amount)
    if density:
        counts = counts / counts.sum() / edges.diff()
    if out is not None:
        counts, edges = into("histogram", out[0], counts), into("histogram", out[1], edges)
    return return_types.histogram(counts, edges)


@operation
@looks_at_values
def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many points fall into each box of a grid, and the edges along each dimension.

    Args:
        input: the points, float32 or float64; those outside the grid are ignored.
        bins: the number of intervals along each dimension, one for all or one for each, or a vector
            of increasing edges for each.
        range: the ends of each dimension's range, one pair after the other.
        weight: how much each point counts; 1 by default.
        density: whether the counts are divided so that the integral over the grid is 1.

    Shape:
        input ``(*, d)``, weight ``(*)``; ``hist`` has d dimensions.

    Returns:
        ``hist``, the counts, and ``bin_edges``, a tuple of vectors.

    Example:
        >>> points = facula.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
        >>> facula.histogramdd(points, bins=[2, 2]).hist
        tensor([[0., 1.],
                [1., 1.]])
    """
    n_dims = input.shape[-1] if input.dim() else 0
    if input.dim() < 2:
        raise RuntimeError(
            f"histogramdd: expected points along the last of two dimensions or more, got "
            f"{tuple(input.shape)}."
        )
    if isinstance(bins, int):
        bins = [bins] * n_dims
    if len(bins) != n_dims or (range is not None and len(range) != 2 * n_dims):
        raise RuntimeError(
            f"histogramdd: expected bins and range for each of {n_dims} dimensions, got "
            f"{len(bins)} and {None if range is None else len(range)} numbers."
        )
    if input.dtype not in (_core.float32, _core.float64):
        raise NotImplementedError(
            f"histogramdd: expected an input of float32 or float64, got {input.dtype}."
        )
    points = input.detach().flatten(0, -2)
    columns = points.t().contiguous().unbind(0)
    ends: list[Any] = [None] * n_dims
    if range is not None:
        ends = list(zip(range[::2], range[1::2], strict=True))
    elif points.numel() > 0 and not points.is_meta:
        low, high = points.aminmax(dim=0)
        ends = list(zip(low.tolist(), high.tolist(), strict=True))
    edges = []
    for i, n in enumerate(bins):
        # Unlike histogram, PyTorch returns the edges that it was given.
        along = _given_edges("histogramdd", input, n) if isinstance(n, Tensor) else None
        edges.append(_edges("histogramdd", columns[i], n, ends[i]) if along is None else along)
    if not edges:  # of points without coordinates PyTorch counts none
        return return_types.histogramdd(input.new_full((), math.nan if density else 0), ())
    shape = [along.numel() - 1 for along in edges]
    n_boxes = step = math.prod(shape)
    # One box more, behind the others, is for points that are outside in some dimension.
    place = _core.zeros(points.size(0), dtype=_core.int64, device=input.device)
    for x, along, n_along in zip(columns, edges, shape, strict=True):
        step //= max(n_along, 1)
        starts = _core.arange(-1, n_along + 1, device=input.device).mul_(step)
        starts[:: n_along + 1] = n_boxes  # the first and the last
        # The last edge belongs to the last interval.
        interval = _core.searchsorted(along, x, right=True).sub_((x == along[-1]).long())
        place += starts.index_select(0, interval)
    amount = _core.ones_like(points[:, 0]) if weight is None else weight.detach().reshape(-1)
    counts = _core.zeros(n_boxes + 1, dtype=input.dtype, device=input.device)
    counts = counts.scatter_add(0, place.clamp_max_(n_boxes), amount)
    counts = counts.narrow(0, 0, n_boxes).clone().reshape(shape)
    if density:
        volumes = _core.ones((), dtype=input.dtype, device=input.device)
        for along in edges:
            volumes = volumes.unsqueeze(-1) * along.diff()
        counts = counts / counts.sum() / volumes
    return return_types.histogramdd(counts, tuple(edges))


def _edges(name: str, x: Tensor, bins: Any, ends: tuple[float, float] | None) -> Tensor:
    """The edges of this many intervals: between the ends, or from the least to the largest."""
    if bins <= 0:
        raise RuntimeError(f"{name}: expected bins > 0, got {bins}.")
    if ends is None:
        ends = (0.0, 1.0) if x.numel() == 0 else _ends_of(x)
    low, high = _range(name, *ends, margin=0.5)
    return _core.linspace(low, high, bins + 1, dtype=x.dtype, device=x.device)


def _given_edges(name: str, input: Tensor, edges: Tensor) -> Tensor:
    if edges.numel() < 2:
        raise RuntimeError(f"{name}: expected bins > 0, thus 2 edges or more, got {edges.numel()}.")
    return edges.to(input.dtype)


def _ends_of(x: Tensor) -> tuple[float, float]:
    """The least and the largest element; those of a meta tensor are unknown."""
    if x.is_meta:
        return 0.0, 0.0
    low, high = x.aminmax()
    return float(low), float(high)


def _range(name: str, low: float, high: float, margin: float) -> tuple[float, float]:
    """The range, wider where its ends are equal."""
    if low == high:
        low, high = low - margin, high + margin
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name}: the range from {low} to {high} is not finite.")
    if low > high:
        raise RuntimeError(f"{name}: expected min <= max, got {low} and {high}.")
    return low, high
