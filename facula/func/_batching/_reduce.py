"""Operations along dimensions: those of an example lie one further back than it knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import _core, return_types
from facula._core import Tensor
from facula._limits import finfo
from facula._transform import map_tensors
from facula.func._batching._batch import (
    RULES,
    Batch,
    all_values,
    are_within,
    as_rows,
    loop_quietly,
    rule,
)
from facula.func._batching._pointwise import pointwise

_Function = Callable[..., Any]


def shifted(name: str, dim: Any, n_dims: int) -> Any:
    """The dimension, or several, of an example as dimensions of the batch."""
    if isinstance(dim, (tuple, list)):
        return [shifted(name, d, n_dims) for d in dim]
    n = max(n_dims, 1)
    index = dim.__index__()
    if not -n <= index < n:
        raise IndexError(
            f"{name}: Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got "
            f"{index}) inside of vmap."
        )
    return index % n + 1


def with_dim(batch: Batch, x: Tensor) -> tuple[Tensor, bool]:
    """All examples with at least one dimension each, and whether one had to be added."""
    physical = batch.lower(x)
    is_number = physical.dim() == 1
    return (physical.unsqueeze(-1), True) if is_number else (physical, False)


def finished(batch: Batch, result: Any, is_number: bool) -> Any:
    """The result as examples, without the dimension that ``with_dim`` added."""
    if is_number:
        result = map_tensors(lambda y: y.squeeze(1) if y.dim() > 1 else y, result)
    return batch.wrap_all(result)


# ---- reductions over one dimension, several or all


@rule("hash_tensor", "logsumexp", "std", "var", "std_mean", "var_mean")
def reduction(
    batch: Batch, func: _Function, x: Tensor, dim: Any = None, *args: Any, **kwargs: Any
) -> Any:
    if isinstance(dim, bool):  # std(unbiased)
        kwargs["unbiased"], dim = dim, None
    physical, is_number = with_dim(batch, x)
    n_dims = int(physical.dim()) - 1
    if dim is None or (isinstance(dim, (tuple, list)) and len(dim) == 0):
        dims: Any = list(range(1, n_dims + 1))
    elif isinstance(dim, int) and args and isinstance(args[0], int) and type(args[0]) is not bool:
        dims, args = shifted(func.__name__, [dim, *args], n_dims), ()  # x.sum(0, 1)
    else:
        dims = shifted(func.__name__, dim, n_dims)
    result = func(physical, dims, *args, **kwargs)
    keeps = kwargs.get("keepdim", bool(args) and args[-1] is True)
    return finished(batch, result, is_number and keeps)


@rule("norm")
def norm(
    batch: Batch, func: _Function, x: Tensor, p: Any = "fro", dim: Any = None, *args: Any,
    **kwargs: Any,
) -> Any:  # fmt: skip
    if p == "nuc":
        dims = (0, 1) if dim is None and x.dim() == 2 else dim
        if dims is None or len(dims) != 2:
            return func(x, p, dim, *args, **kwargs)  # raises
        return batch.wrap(func(batch.lower(x), p, shifted("norm", dims, int(x.dim())), *args,
                               **kwargs))  # fmt: skip
    return _norm(batch, func, x, 2 if p in ("fro", None) else p, dim, *args, **kwargs)


@rule("_linalg_vector_norm", "linalg_vector_norm", "vector_norm")
def _norm(
    batch: Batch, func: _Function, x: Tensor, ord: Any = 2, dim: Any = None, *args: Any,
    **kwargs: Any,
) -> Any:  # fmt: skip
    physical, is_number = with_dim(batch, x)
    n_dims = int(physical.dim()) - 1
    dims = (
        list(range(1, n_dims + 1))
        if dim is None or dim in ([], ())
        else shifted("norm", dim, n_dims)
    )
    result = func(physical, ord, dims, *args, **kwargs)
    return finished(batch, result, is_number and kwargs.get("keepdim", bool(args) and args[0]))


# ---- over one dimension, or over all elements in a row


@rule("argmax", "argmin", "prod", "median", "nanmedian", "max", "min")
def over_one(
    batch: Batch, func: _Function, x: Tensor, dim: Any = None, *args: Any, **kwargs: Any
) -> Any:
    if isinstance(dim, Tensor) or isinstance(kwargs.get("other"), Tensor):  # max(x, other)
        return pointwise(batch, func, x, *([] if dim is None else [dim]), *args, **kwargs)
    physical, is_number = with_dim(batch, x)
    n_dims = int(physical.dim()) - 1
    if dim is not None:
        result = func(physical, shifted(func.__name__, dim, n_dims), *args, **kwargs)
        keeps = kwargs.get("keepdim", bool(args) and args[0])
        return finished(batch, result, is_number and keeps)
    keeps = kwargs.pop("keepdim", bool(args) and args[0])
    result = func(physical.flatten(1), 1, **kwargs)
    if isinstance(result, tuple):  # the value, as max() without dim gives it
        result = result[0]
    elif keeps:
        result = result.reshape(batch.size, *(1,) * int(x.dim()))
    return batch.wrap(result)


@rule("aminmax")
def aminmax(
    batch: Batch, func: _Function, x: Tensor, *, dim: Any = None, keepdim: bool = False
) -> Any:
    physical, is_number = with_dim(batch, x)
    if dim is None:
        result = func(physical.flatten(1), dim=1)
        if keepdim:
            form = (batch.size, *(1,) * int(x.dim()))
            result = type(result)([y.reshape(form) for y in result])
        return batch.wrap_all(result)
    dim = shifted("aminmax", dim, int(physical.dim()) - 1)
    return finished(batch, func(physical, dim=dim, keepdim=keepdim), is_number and keepdim)


_ROUNDED: dict[str, _Function] = {
    "linear": _core.clone,
    "midpoint": _core.clone,
    "lower": _core.floor,
    "higher": _core.ceil,
    "nearest": _core.round,
}


def _are_quantiles(batch: Batch, x: Tensor, q: Tensor, interpolation: str = "linear") -> bool:
    wanted = all_values(batch.lower(q))
    return (
        interpolation in _ROUNDED
        and x.dtype in (_core.float32, _core.float64)
        and q.dtype == x.dtype
        and q.dim() <= 1
        and x.numel() > 0
        and bool(((wanted >= 0) & (wanted <= 1)).all())
    )


def _own_quantiles(
    batch: Batch, func: _Function, x: Tensor, q: Tensor, dim: Any, keepdim: bool,
    interpolation: str = "linear",
) -> Any:  # fmt: skip
    """Quantiles of each example, of which each asks for its own: found in the sorted lines."""
    physical, _ = with_dim(batch, x)
    place = 1 if dim is None else shifted("quantile", dim, int(physical.dim()) - 1)
    lines = physical.flatten(1) if dim is None else physical.movedim(place, -1)
    values = lines.sort(-1).values  # NaN comes last
    last, n_nan = int(lines.shape[-1]) - 1, values.isnan().sum(-1, True)
    wanted = batch.lower(q).reshape(batch.size, *(1,) * (int(lines.dim()) - 2), -1)
    if func.__name__ == "nanquantile":
        rank = wanted * (last - n_nan).clamp_min(0).to(x.dtype)
    else:
        rank = _core.where(n_nan > 0, last, wanted * last)
    rank = _ROUNDED[interpolation](rank)
    low = rank.detach().floor()
    result = values.gather(-1, low.long())
    if interpolation in ("linear", "midpoint"):
        weight = rank - low if interpolation == "linear" else 0.5
        result = result + weight * (values.gather(-1, rank.detach().ceil().long()) - result)
    if keepdim:
        for at in range(1, int(x.dim()) + 1) if dim is None else (place,):
            result = result.unsqueeze(at)
    return batch.wrap(result.squeeze(-1) if q.dim() == 0 else result.movedim(-1, 1))


@rule("quantile", "nanquantile")
def quantile(
    batch: Batch, func: _Function, x: Tensor, q: Any, dim: Any = None, keepdim: bool = False,
    **kwargs: Any,
) -> Any:  # fmt: skip
    if batch.has(q) and not batch.has(x):  # the quantiles of all examples are asked for at once
        asked = batch.lower(q)
        result = func(x, asked.flatten(), dim, keepdim, **kwargs)
        return batch.wrap(result.reshape(asked.shape + result.shape[1:]))
    if x.dim() == 0 and keepdim:
        return loop_quietly(batch, func, x, q, dim, keepdim, **kwargs)
    if batch.has(q):
        if not _are_quantiles(batch, x, q, **kwargs):
            return loop_quietly(batch, func, x, q, dim, keepdim, **kwargs)  # raises
        return _own_quantiles(batch, func, x, q, dim, keepdim, **kwargs)
    physical, _ = with_dim(batch, x)
    if dim is None:
        result = func(physical.flatten(1), q, 1, **kwargs)
    else:
        place = shifted("quantile", dim, int(physical.dim()) - 1)
        result = func(physical, q, place, keepdim, **kwargs)
    if isinstance(q, Tensor) and q.dim() == 1:  # the quantiles come first
        result = result.movedim(0, 1)
    if keepdim and dim is None:
        result = result.reshape((*result.shape, *(1,) * int(x.dim())))
    return batch.wrap(result)


# ---- counts


@rule("bincount")
def bincount(
    batch: Batch, func: _Function, x: Tensor, weights: Any = None, minlength: int = 0
) -> Any:
    values = all_values(x)
    lengths = values.amax(-1).clamp_min(minlength - 1) + 1 if values.numel() else values
    is_usual = values.numel() > 0 and x.dim() == 1 and not x.is_floating_point()
    # Where the largest numbers differ, so do the lengths of the results.
    if not is_usual or int(values.min()) < 0 or int(lengths.min()) != int(lengths.max()):
        return loop_quietly(batch, func, x, weights, minlength)
    places = batch.all_of(x).to(_core.int64)
    if weights is None:
        counted = _core.ones_like(places)
    else:
        counted = batch.all_of(weights).detach()
        counted = counted if counted.dtype is _core.float32 else counted.double()
    zeros = _core.zeros(batch.size, int(lengths.max()), dtype=counted.dtype, device=counted.device)
    return batch.wrap(zeros.scatter_add(1, places, counted))


@rule("histogram")
def histogram(
    batch: Batch, func: _Function, x: Tensor, bins: Any = 100, *, range: Any = None,
    weight: Any = None, density: bool = False,
) -> Any:  # fmt: skip
    flat = as_rows(batch.all_of(x).detach())
    has_own_range = not isinstance(bins, Tensor) and (range is None or range[0] == range[1])
    is_usual = x.dtype in (_core.float32, _core.float64) and x.numel() > 0
    if not is_usual or (weight is not None and weight.shape != x.shape) or (
        has_own_range and (bins <= 0 or not bool(all_values(flat).isfinite().all()))
    ):  # fmt: skip
        return loop_quietly(batch, func, x, bins, range=range, weight=weight, density=density)
    if isinstance(bins, Tensor):
        edges = batch.all_of(bins).to(x.dtype)
    elif has_own_range:
        low, high = flat.amin(1), flat.amax(1)
        margin = 0.5 * (low == high)
        edges = _spaced(low - margin, high + margin, bins + 1)
    else:
        edges = func(_core.zeros(1, dtype=x.dtype, device=x.device), bins, range=range)[1]
        edges = edges.expand(batch.size, *edges.shape)
    amount = _core.ones_like(flat) if weight is None else batch.all_of(weight).detach()
    is_inside = (flat >= edges[:, :1]) & (flat <= edges[:, -1:])
    n_bins = int(edges.shape[1]) - 1
    places = (_core.searchsorted(edges.contiguous(), flat, right=True) - 1).clamp(0, n_bins - 1)
    counts = _core.zeros(batch.size, n_bins, dtype=x.dtype, device=x.device)
    amount = _core.where(is_inside, amount.reshape(flat.shape), 0)
    counts = counts.scatter_add(1, places, amount)
    if density:
        counts = counts / counts.sum(1, keepdim=True) / edges.diff(dim=1)
    return return_types.histogram(batch.wrap(counts), batch.wrap(edges))


RULES["histogramdd"] = loop_quietly  # the grids of examples may have other edges


@rule("histc")
def histc(
    batch: Batch, func: _Function, x: Tensor, bins: int = 100, min: float = 0, max: float = 0
) -> Any:
    flat = as_rows(batch.all_of(x).detach())
    values = all_values(flat)
    is_usual = x.dtype in (_core.float32, _core.float64) and values.numel() > 0 and bins > 0
    if not is_usual or min > max or not bool(values.isfinite().all()) or (
        (float(values.max()) - float(values.min()) + abs(min) + abs(max)) * bins
        > finfo(x.dtype).max / 4
    ):  # fmt: skip
        return loop_quietly(batch, func, x, bins, min, max)
    ends = [_core.full((), end, dtype=x.dtype, device=x.device) for end in (min, max)]
    low, high = (end.expand(batch.size, 1) for end in ends)
    if min == max:
        low, high = flat.amin(1, keepdim=True), flat.amax(1, keepdim=True)
        margin = 1 * (low == high)
        low, high = low - margin, high + margin
    places = ((flat - low) * bins / (high - low)).to(_core.int64).clamp_max(bins - 1)
    places = _core.where((flat >= low) & (flat <= high), places, bins)
    counts = _core.zeros(batch.size, bins + 1, dtype=_core.int64, device=x.device)
    counts = counts.scatter_add(1, places, _core.ones_like(places))
    return batch.wrap(counts[:, :bins].to(x.dtype))


# ---- numbers at equal distances


@rule("linspace", "logspace")
def spaced(
    batch: Batch, func: _Function, start: Any, end: Any, steps: int, base: float = 10.0, *,
    dtype: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    numbers = [a if isinstance(a, Tensor) else _core.tensor(a) for a in (start, end)]
    if steps < 0 or any(a.dim() for a in numbers) or dtype is _core.bool:
        return func(start, end, steps, dtype=dtype, **kwargs)  # raises
    own = dtype or func(*(0j if a.is_complex() else 0 for a in numbers), 0).dtype
    is_integer = not (own.is_floating_point or own.is_complex)
    is_power = func.__name__ == "logspace"
    # Integers are cut, then counted in doubles.
    wide = own if own.is_complex or not (is_integer or is_power) else _core.float64
    requires_grad = kwargs.pop("requires_grad", False)
    ends = [batch.all_of(a).detach() for a in numbers]
    first, last = ((a.to(own) if is_integer else a).to(wide) for a in ends)
    y = _spaced(first, last, steps)
    if is_power:
        y = _core.pow(base, y)
    return batch.wrap(y.to(own).requires_grad_(requires_grad))


def _spaced(first: Tensor, last: Tensor, steps: int) -> Tensor:
    """Rows of ``steps`` numbers, each counted from the nearer end, so that the last is exact."""
    first, last = first.unsqueeze(1), last.unsqueeze(1)
    if steps == 1:
        return first
    places = _core.arange(steps, device=first.device)
    step = (last - first) / max(steps - 1, 1)
    from_end = last - step * (steps - 1 - places)
    return _core.where(places < steps // 2, first + step * places, from_end)


# ---- along a dimension: the parameters after the tensor, with defaults; those named dim count from
# the front of an example

_ALONG = {
    "argsort": "dim=-1",
    "chunk": "chunks dim=0",
    "cummax": "dim",
    "cummin": "dim",
    "cumprod": "dim",
    "cumsum": "dim",
    "diagonal": "offset=0 dim1=0 dim2=1",
    "flip": "dims",
    "glu": "dim",
    "kthvalue": "k dim=-1",
    "log_softmax": "dim",
    "logcumsumexp": "dim",
    "mode": "dim=-1",
    "movedim": "dim_source dim_destination",
    "moveaxis": "dim_source dim_destination",
    "select": "dim index",
    "softmax": "dim",
    "sort": "dim=-1",
    "split": "split_size_or_sections dim=0",
    "split_with_sizes": "split_sizes dim=0",
    "swapaxes": "dim0 dim1",
    "swapdims": "dim0 dim1",
    "topk": "k dim=-1",
    "transpose": "dim0 dim1",
    "unbind": "dim=0",
    "unfold": "dimension size step",
    "unsafe_chunk": "chunks dim=0",
    "unsafe_split": "split_size_or_sections dim=0",
    "unsafe_split_with_sizes": "split_sizes dim=0",
}
# Names that parameters are called by, where they are not those above.
_CALLED = {"dim_source": "source", "dim_destination": "destination"}


def along(parameters: str, writes: bool = False) -> Callable[..., Any]:
    """The rule of an operation whose parameters after the tensor are these."""
    parsed = []
    for text in parameters.split():
        name, _, default = text.partition("=")
        parsed.append(
            (_CALLED.get(name, name), name.startswith("dim"), int(default) if default else None)
        )

    def along_rule(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not batch.has(x) or any(batch.has(a) for a in args):
            return loop_quietly(batch, func, x, *args, **kwargs)
        physical, is_number = with_dim(batch, x)
        n_dims = int(physical.dim()) - 1
        if len(parsed) == 1 and len(args) > 1 and parsed[0][0] == "dims":  # x.flip(0, 1)
            args = (args,)
        given = list(args)
        for i, (name, is_dim, default) in enumerate(parsed):
            if not is_dim:
                continue
            if i < len(given):
                given[i] = shifted(func.__name__, given[i], n_dims)
            elif name in kwargs:
                kwargs[name] = shifted(func.__name__, kwargs[name], n_dims)
            elif default is not None:
                kwargs[name] = shifted(func.__name__, default, n_dims)
        result = func(physical, *given, **kwargs)
        if not writes:
            return finished(batch, result, is_number)
        return x

    return along_rule


@rule("roll")
def roll(batch: Batch, func: _Function, x: Tensor, shifts: Any, dims: Any = None) -> Any:
    physical, is_number = with_dim(batch, x)
    if dims is None or dims == ():
        return batch.wrap(func(physical.flatten(1), shifts, 1).reshape(batch.lower(x).shape))
    dims = shifted("roll", dims, int(physical.dim()) - 1)
    return finished(batch, func(physical, shifts, dims), is_number)


@rule("narrow")
def narrow(
    batch: Batch, func: _Function, x: Tensor, dim: int, start: Any, length: int, **kwargs: Any
) -> Any:
    if not batch.has(start) or kwargs:
        return along("dim start length")(batch, func, x, dim, start, length, **kwargs)
    size, starts = int(x.size(dim)), batch.lower(start)
    starts = _core.where(starts < 0, starts + size, starts)
    if start.dim() or starts.dtype.is_floating_point or not are_within(starts, size - length + 1):
        return loop_quietly(batch, func, x, dim, start, length)  # raises
    places = starts.unsqueeze(1) + _core.arange(length, device=starts.device)
    return RULES["index_select"](batch, _core.index_select, x, dim, batch.wrap(places))


@rule("msort")
def msort(batch: Batch, func: _Function, x: Tensor) -> Any:
    physical, is_number = with_dim(batch, x)
    return finished(batch, _core.sort(physical, 1)[0], is_number)


def _add_all() -> None:
    for name, *_ in _core._reduce_rows():
        RULES[name] = reduction
    for name, parameters in _ALONG.items():
        RULES[name] = along(parameters)
    for name in ("cumsum_", "cumprod_"):
        RULES[name] = along("dim", writes=True)


_add_all()
