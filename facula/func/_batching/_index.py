"""Indexing, gathering, scattering: what examples share is expanded, and dimensions move back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula.func._batching._batch import (
    RULES,
    Batch,
    check_writable,
    loop_quietly,
    rule,
    writes_to_first,
)
from facula.func._batching._pointwise import aligned
from facula.func._batching._reduce import shifted

_Function = Callable[..., Any]


def _expanded(batch: Batch, x: Any, is_number: bool) -> Any:
    if not isinstance(x, Tensor):
        return x
    everything = batch.all_of(x)
    return everything.unsqueeze(-1) if is_number and x.dim() == 0 else everything


@rule("gather", "scatter", "scatter_add", "scatter_reduce", "scatter_", "scatter_add_",
      "scatter_reduce_")  # fmt: skip
def gather_or_scatter(
    batch: Batch, func: _Function, x: Tensor, dim: int, index: Tensor, *args: Any, **kwargs: Any
) -> Any:
    is_number = x.dim() == 0
    writes = writes_to_first(func.__name__)
    if writes:
        check_writable(batch, func, (x,))
    if isinstance(kwargs.get("value"), Tensor) or (
        args and batch.has(args[0]) and args[0].dim() == 0 and index.dim() > 0
    ):
        return loop_quietly(batch, func, x, dim, index, *args, **kwargs)
    place = shifted(func.__name__, dim, int(x.dim()))
    rest = [_expanded(batch, a, is_number) for a in args]
    named = {name: _expanded(batch, a, is_number) for name, a in kwargs.items()}
    y = func(
        _expanded(batch, x, is_number), place, _expanded(batch, index, is_number), *rest, **named
    )
    if writes:
        return x
    return batch.wrap(y.squeeze(-1) if is_number and index.dim() == 0 else y)


@rule("index_select")
def index_select(batch: Batch, func: _Function, x: Tensor, dim: int, index: Tensor) -> Any:
    n_dims = int(x.dim())
    place = shifted("index_select", dim, n_dims)
    if n_dims == 0:
        return loop_quietly(batch, func, x, dim, index)
    if not batch.has(index):
        return batch.wrap(func(batch.lower(x), place, index))
    everything = batch.all_of(x)
    places = batch.lower(index).reshape(batch.size, -1)
    form = [batch.size] + [1] * n_dims
    form[place] = places.shape[1]
    sizes = list(everything.shape)
    sizes[place] = places.shape[1]
    return batch.wrap(_core.gather(everything, place, places.reshape(form).expand(sizes)))


@rule("index_add", "index_copy", "index_fill", "index_reduce", "index_add_", "index_copy_",
      "index_fill_", "index_reduce_")  # fmt: skip
def at_index(
    batch: Batch, func: _Function, x: Tensor, dim: int, index: Tensor, source: Any = None,
    *args: Any, **kwargs: Any,
) -> Any:  # fmt: skip
    writes = writes_to_first(func.__name__)
    if writes:
        check_writable(batch, func, (x,))
    source = kwargs.pop("value", source)
    is_fill = func.__name__.startswith("index_fill")
    if batch.has(index) or x.dim() == 0 or (is_fill and batch.has(source)):
        return loop_quietly(batch, func, x, dim, index, source, *args, **kwargs)
    place = shifted(func.__name__, dim, int(x.dim()))
    if isinstance(source, Tensor) and not is_fill:
        if source.dim() != x.dim():
            return loop_quietly(batch, func, x, dim, index, source, *args, **kwargs)
        source = batch.all_of(source)
    y = func(batch.lower(x) if writes else batch.all_of(x), place, index, source, *args, **kwargs)
    return x if writes else batch.wrap(y)


@rule("take")
def take(batch: Batch, func: _Function, x: Tensor, index: Tensor) -> Any:
    flat, places = batch.all_of(x).reshape(batch.size, -1), batch.all_of(index)
    # take counts negative places from the end; gather knows none.
    n = int(flat.shape[1])
    flat_places = places.reshape(batch.size, -1)
    flat_places = _core.where(flat_places < 0, flat_places + n, flat_places)
    return batch.wrap(flat.gather(1, flat_places).reshape(places.shape))


@rule("take_along_dim")
def take_along_dim(
    batch: Batch, func: _Function, x: Tensor, indices: Tensor, dim: Any = None
) -> Any:
    if dim is None:
        flat = batch.all_of(indices).reshape(batch.size, -1)
        return batch.wrap(func(batch.all_of(x).reshape(batch.size, -1), flat, 1))
    place = shifted("take_along_dim", dim, int(x.dim()))
    return batch.wrap(func(batch.all_of(x), batch.all_of(indices), place))


@rule("select_scatter", "slice_scatter", "diagonal_scatter")
def scatter_view(
    batch: Batch, func: _Function, x: Tensor, src: Tensor, *args: Any, **kwargs: Any
) -> Any:
    # As x.clone() with the values put into the view that the operation is called after.
    parameters = {
        "select_scatter": ("dim", "index"),
        "slice_scatter": ("dim", "start", "end", "step"),
        "diagonal_scatter": ("offset", "dim1", "dim2"),
    }[func.__name__]
    defaults = {"dim": 0, "dim1": 0, "dim2": 1}
    named = {**defaults, **dict(zip(parameters, args, strict=False)), **kwargs}
    named = {name: value for name, value in named.items() if name in parameters}
    n_dims = int(x.dim())
    for name in ("dim", "dim1", "dim2"):
        if name in named:
            named[name] = shifted(func.__name__, named[name], n_dims)
    return batch.wrap(func(batch.all_of(x), batch.all_of(src), **named))


@rule("embedding")
def embedding(
    batch: Batch, func: _Function, weight: Tensor, indices: Tensor, padding_idx: int = -1,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    if not batch.has(weight):
        return batch.wrap(
            func(weight, batch.lower(indices), padding_idx, scale_grad_by_freq, sparse)
        )
    if scale_grad_by_freq or padding_idx >= 0:
        return loop_quietly(batch, func, weight, indices, padding_idx, scale_grad_by_freq, sparse)
    rows: Tensor = batch.lower(weight)
    n_rows = int(rows.shape[1])
    first = _core.arange(batch.size, device=rows.device) * n_rows
    places = batch.lower(indices)
    places = places + first.reshape(batch.size, *(1,) * int(indices.dim()))
    return batch.wrap(func(rows.flatten(0, 1), places))


@rule("searchsorted", "bucketize")
def searchsorted(batch: Batch, func: _Function, *args: Any, **kwargs: Any) -> Any:
    is_bucketize = func.__name__ == "bucketize"
    given = list(args)
    bounds = kwargs.pop("boundaries" if is_bucketize else "sorted_sequence", None)
    if bounds is None:
        bounds = given.pop(1 if is_bucketize else 0)
    values = given[0] if given else kwargs.pop("input")
    both = (values, bounds) if is_bucketize else (bounds, values)
    if not isinstance(values, Tensor) or kwargs.get("sorter") is not None:
        return loop_quietly(batch, func, *both, **kwargs)
    if bounds.dim() == 1 and not batch.has(bounds):
        return batch.wrap(func(*map(batch.lower, both), **kwargs))
    if is_bucketize:
        return loop_quietly(batch, func, *both, **kwargs)
    everything = batch.all_of(values)
    if bounds.dim() == 1:  # for which an example may have values of any shape
        everything = everything.reshape(batch.size, -1)
    places = func(batch.all_of(bounds).contiguous(), everything.contiguous(), **kwargs)
    return batch.wrap(places.reshape(batch.size, *values.shape))


# ---- x[...]


def _as_tuple(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and any(
        isinstance(i, (Tensor, slice, type(None), list)) or i is ... for i in index
    ):
        return tuple(index)
    return (index,)


def _is_basic(index: Any) -> bool:
    return (
        index is None
        or index is ...
        or (isinstance(index, (slice, int)) and not isinstance(index, bool))
    )


def _full(index: tuple[Any, ...], n_dims: int) -> tuple[Any, ...]:
    """The index without ``...``, with one entry for each dimension and None for a new one."""
    n_used = sum(i is not None and i is not ... for i in index)
    missing = (slice(None),) * (n_dims - n_used)
    for place, i in enumerate(index):
        if i is ...:
            return index[:place] + missing + index[place + 1 :]
    return index + missing


@rule("__getitem__")
def getitem(batch: Batch, func: _Function, x: Tensor, index: Any) -> Any:
    parts = _as_tuple(index)
    if batch.has(x) and all(map(_is_basic, parts)):
        place = (slice(None), *parts)
        return batch.wrap(batch.lower(x)[place])
    parts = tuple(i if _is_basic(i) or isinstance(i, Tensor) else _core.tensor(i) for i in parts)
    masks = [i for i in parts if _is_mask(i)]
    if any(map(batch.has, masks)):
        raise RuntimeError(
            "vmap: a batched mask selects another number of elements for every example. Use "
            "torch.where(mask, x, value) instead of x[mask]."
        )
    return batch.wrap(_taken(batch, x, _without_masks(parts) if masks else parts))


def _is_mask(index: Any) -> bool:
    return isinstance(index, Tensor) and index.dtype in (_core.bool, _core.uint8)


def _without_masks(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    flat: list[Any] = []
    for i in parts:
        if _is_mask(i):
            flat += _core.nonzero(i, as_tuple=True)
        else:
            flat.append(i)
    return tuple(flat)


def _taken(batch: Batch, x: Tensor, parts: tuple[Any, ...]) -> Any:
    """All examples of ``x[parts]``, where parts have integer tensors among them."""
    # First the basic parts, which leave a view; then the tensors, of which all are known by place.
    entries = _full(parts, int(x.dim()))
    basic = tuple(slice(None) if isinstance(i, Tensor) else i for i in entries)
    view = batch.lower(x)[(slice(None), *basic) if batch.has(x) else basic]
    kept = [i for i in entries if isinstance(i, Tensor) or not isinstance(i, int)]
    places = [d for d, i in enumerate(kept) if isinstance(i, Tensor)]
    indices = [kept[d] for d in places]
    n_index_dims = max(int(i.dim()) for i in indices)
    is_together = places == list(range(places[0], places[0] + len(places)))
    to = places[0] if is_together else 0
    is_batched = any(batch.has(i) for i in indices)
    offset = 1 if batch.has(x) else 0
    view = view.movedim([d + offset for d in places], list(range(offset, offset + len(places))))
    lowered = [aligned(batch, i, n_index_dims) for i in indices]
    together: tuple[Any, ...]
    if is_batched and batch.has(x):
        own = _core.arange(batch.size, device=view.device).reshape(-1, *(1,) * n_index_dims)
        together = (own, *lowered)
        y = view[together]
    elif is_batched:
        y = view[tuple(lowered)]
    else:
        together = (slice(None), *lowered)
        y = view[together]
    # Now (N, dims of the indices, the rest); they belong behind the first `to` of the rest.
    if to and n_index_dims:
        y = y.movedim(list(range(1, n_index_dims + 1)), list(range(to + 1, to + n_index_dims + 1)))
    return y


@rule("masked_select")
def masked_select(batch: Batch, func: _Function, x: Tensor, mask: Tensor) -> Any:
    if batch.has(mask):
        return getitem(batch, func, x, mask)  # raises
    n_dims = max(int(x.dim()), int(mask.dim()))
    values = aligned(batch, x, n_dims)
    shape = (_core.zeros(()).expand(x.shape) * _core.zeros(()).expand(mask.shape)).shape
    return batch.wrap(values.expand(batch.size, *shape)[:, mask.expand(shape)])


@rule("__setitem__")
def setitem(batch: Batch, func: _Function, x: Tensor, index: Any, value: Any) -> Any:
    check_writable(batch, func, (x,))
    physical: Tensor = batch.lower(x)
    parts = _as_tuple(index)
    if all(map(_is_basic, parts)):
        place = (slice(None), *parts)
        if batch.has(value):
            target = physical[place]
            n_extra = int(value.dim()) - (int(target.dim()) - 1)
            values = batch.lower(value)
            if n_extra > 0:
                values = values.flatten(0, n_extra)
            physical[place] = aligned(batch, batch.wrap(values), int(target.dim()) - 1)
        else:
            physical[place] = value
        return None
    if len(parts) == 1 and isinstance(parts[0], Tensor) and parts[0].dtype is _core.bool:
        mask = parts[0]
        if not isinstance(value, Tensor) or value.dim() == 0:
            mask = batch.lower(mask) if batch.has(mask) else mask.expand(batch.size, *mask.shape)
            mask = mask.reshape((*mask.shape, *(1,) * (int(physical.dim()) - int(mask.dim()))))
            values = aligned(batch, value, int(x.dim())) if batch.has(value) else value
            physical.copy_(_core.where(mask, values, physical).to(physical.dtype))
            return None
    loop_quietly(batch, func, x, index, value)
    return None


@rule("as_strided")
def as_strided(
    batch: Batch, func: _Function, x: Tensor, size: Any, stride: Any, storage_offset: Any = None
) -> Any:
    physical: Tensor = batch.lower(x)
    if physical.stride(0) == 0 and batch.size > 1:
        # Examples that lie in the same memory could not be told apart in backward.
        if not x.is_contiguous():
            return loop_quietly(batch, func, x, size, stride, storage_offset)
        first = 0 if storage_offset is None else storage_offset - x.storage_offset()
        physical, storage_offset = physical.contiguous(), first
    # Each example begins where it lies, as if it were alone in memory.
    sizes, strides = (batch.size, *size), (physical.stride(0), *stride)
    return batch.wrap(func(physical, sizes, strides, storage_offset))


@rule("as_strided_scatter")
def as_strided_scatter(
    batch: Batch, func: _Function, x: Tensor, src: Tensor, size: Any, stride: Any,
    storage_offset: Any = None,
) -> Any:  # fmt: skip
    y = batch.wrap(batch.all_of(x).clone(memory_format=_core.contiguous_format))
    part = as_strided(batch, _core.as_strided, y, size, stride, storage_offset)
    part.physical.copy_(batch.all_of(src))
    return y


@rule("index_put", "index_put_", "put", "put_", "masked_scatter", "masked_scatter_")
def one_by_one(batch: Batch, func: _Function, *args: Any, **kwargs: Any) -> Any:
    if not writes_to_first(func.__name__) and not batch.has(args[0]):
        args = (batch.wrap(batch.all_of(args[0])), *args[1:])
    return loop_quietly(batch, func, *args, **kwargs)


RULES["scatter_reduce"] = gather_or_scatter
