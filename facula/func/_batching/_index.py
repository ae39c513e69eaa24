"""Indexing, gathering, scattering: what examples share is expanded, and dimensions move back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula.func._batching._batch import (
    RULES,
    Batch,
    all_values,
    are_within,
    as_rows,
    check_writable,
    example,
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


def _own_places(batch: Batch, places: Tensor, size: int) -> Tensor:
    """Places of each example among ``size``, as places where all examples lie behind each other."""
    first = _core.arange(batch.size, device=places.device) * size
    return places + first.reshape(batch.size, *(1,) * (int(places.dim()) - 1))


@rule("gather", "scatter", "scatter_add", "scatter_reduce", "scatter_", "scatter_add_",
      "scatter_reduce_")  # fmt: skip
def gather_or_scatter(
    batch: Batch, func: _Function, x: Tensor, dim: int, index: Tensor, *args: Any, **kwargs: Any
) -> Any:
    is_number = x.dim() == 0
    writes = writes_to_first(func.__name__)
    if writes:
        check_writable(batch, func, (x,))
    value = kwargs.pop("value", None)
    if isinstance(value, Tensor):  # one for all places of an example
        spread = batch.all_of(value).to(x.dtype).reshape(batch.size, *(1,) * int(index.dim()))
        args = (batch.wrap(spread.expand(batch.size, *index.shape)), *args)
    elif value is not None:
        kwargs["value"] = value
    elif args and isinstance(args[0], Tensor) and args[0].dim() == 0 and index.dim() > 0:
        if index.numel() != 1:
            return func(x, dim, index, *args, **kwargs)  # raises
        args = (batch.wrap(batch.all_of(args[0]).reshape(batch.size, *index.shape)), *args[1:])
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
        if index.numel() != 1:
            return func(x, dim, index)  # raises
        places = batch.all_of(index).reshape(batch.size, 1)
        return batch.wrap(_core.gather(batch.all_of(x).unsqueeze(1), 1, places).squeeze(1))
    if not batch.has(index):
        return batch.wrap(func(batch.lower(x), place, index))
    everything = batch.all_of(x)
    places = as_rows(batch.lower(index))
    form = [batch.size] + [1] * n_dims
    form[place] = places.shape[1]
    sizes = list(everything.shape)
    sizes[place] = places.shape[1]
    return batch.wrap(_core.gather(everything, place, places.reshape(form).expand(sizes)))


@rule("repeat_interleave")
def repeat_interleave(
    batch: Batch, func: _Function, x: Tensor, repeats: Any = None, dim: Any = None, *,
    output_size: Any = None,
) -> Any:  # fmt: skip
    n = int(x.numel()) if dim is None else int(x.size(dim))
    if repeats is not None and not batch.has(repeats):
        everything = batch.lower(x)
        everything = as_rows(everything) if dim is None else everything
        place = 1 if dim is None else shifted("repeat_interleave", dim, int(x.dim()))
        return batch.wrap(func(everything, repeats, place, output_size=output_size))
    counts = x if repeats is None else repeats
    values = all_values(counts)
    totals = values.sum(-1) if values.dim() and values.shape[-1] == n else values * n
    is_usual = counts.dim() == 1 and values.numel() > 0 and values.dtype in (
        _core.int64, _core.int32)  # fmt: skip
    # Where the counts of examples add up to other numbers, so do the sizes of the results.
    if (
        not is_usual or int(values.min()) < 0 or int(totals.min()) != int(totals.max())
        or int(counts.numel()) not in (1, n) or output_size not in (None, int(totals.max()))
    ):  # fmt: skip
        return loop_quietly(batch, func, x, repeats, dim, output_size=output_size)
    # Entry i owns the places before the running total of the counts.
    ends = batch.all_of(counts).expand(batch.size, n).cumsum(1)
    places = _core.arange(int(totals.max()), device=counts.device)
    entries = _core.searchsorted(ends, places.expand(batch.size, -1).contiguous(), right=True)
    if repeats is None:
        return batch.wrap(entries)
    flat = batch.wrap(as_rows(batch.all_of(x))) if dim is None else x
    return index_select(batch, _core.index_select, flat, dim or 0, batch.wrap(entries))


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
    place = shifted(func.__name__, dim, int(x.dim()))
    is_number = isinstance(source, Tensor) and source.dim() != x.dim()
    if not batch.has(index) and x.dim() > 0 and not (batch.has(source) if is_fill else is_number):
        if isinstance(source, Tensor) and not is_fill:
            source = batch.all_of(source)
        everything = batch.lower(x) if writes else batch.all_of(x)
        y = func(everything, place, index, source, *args, **kwargs)
        return x if writes else batch.wrap(y)
    sizes = list(x.shape) or [1]
    n_rows = sizes[place - 1]
    sizes[place - 1] = int(index.numel())
    is_wrong = isinstance(source, Tensor) and source.numel() != (
        1 if is_fill else _core.Size(sizes).numel()
    )
    places = as_rows(batch.all_of(index))
    if is_fill:
        places = _core.where(places < 0, places + n_rows, places)
    if is_wrong or index.dim() > 1 or not are_within(places, n_rows):
        return loop_quietly(batch, func, x, dim, index, source, *args, **kwargs)  # raises
    # The rows of all examples lie behind each other, and each index has places of its own there.
    everything = batch.all_of(x).reshape(batch.size, *(x.shape or (1,)))
    # A copy where there is a graph, for which the operation may save its input.
    rows = (everything.clone() if writes else everything).movedim(place, 1).flatten(0, 1)
    own = _own_places(batch, places, n_rows).flatten()
    if is_fill and batch.has(source):
        is_filled = _core.zeros_like(rows, dtype=_core.bool).index_fill(0, own, True)
        value = batch.lower(source).to(x.dtype).reshape(-1, 1).expand(-1, n_rows)
        y = _core.where(is_filled, value.reshape(-1, *(1,) * (len(sizes) - 1)), rows)
    else:
        if not is_fill:
            source = batch.all_of(source).reshape(batch.size, *sizes)
            source = source.movedim(place, 1).flatten(0, 1)
        y = getattr(_core, func.__name__.rstrip("_"))(rows, 0, own, source, *args, **kwargs)
    y = y.unflatten(0, (batch.size, n_rows)).movedim(1, place).reshape(batch.size, *x.shape)
    return _result(batch, func, x, y)


@rule("take")
def take(batch: Batch, func: _Function, x: Tensor, index: Tensor) -> Any:
    flat, places = as_rows(batch.all_of(x)), batch.all_of(index)
    # take counts negative places from the end; gather knows none.
    n = int(flat.shape[1])
    flat_places = as_rows(places)
    flat_places = _core.where(flat_places < 0, flat_places + n, flat_places)
    return batch.wrap(flat.gather(1, flat_places).reshape(places.shape))


@rule("take_along_dim")
def take_along_dim(
    batch: Batch, func: _Function, x: Tensor, indices: Tensor, dim: Any = None
) -> Any:
    if dim is None:
        flat = as_rows(batch.all_of(indices))
        return batch.wrap(func(as_rows(batch.all_of(x)), flat, 1))
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
    # How often a row is asked for is counted in each example.
    if not batch.has(weight) and not scale_grad_by_freq:
        return batch.wrap(func(weight, batch.lower(indices), padding_idx, False, sparse))
    rows: Tensor = batch.all_of(weight)
    n_rows = int(rows.shape[1])
    places = batch.all_of(indices)
    if not are_within(places, n_rows):
        return loop_quietly(batch, func, weight, indices)  # raises
    y = func(rows.flatten(0, 1), _own_places(batch, places, n_rows), -1, scale_grad_by_freq)
    if padding_idx >= 0:
        y = _core.where((places == padding_idx).unsqueeze(-1), y.detach(), y)
    return batch.wrap(y)


@rule("embedding_bag")
def embedding_bag(
    batch: Batch, func: _Function, weight: Tensor, indices: Tensor, offsets: Tensor,
    scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: Any = None,
) -> Any:  # fmt: skip
    n, n_rows, n_bags = int(indices.numel()), int(weight.shape[0]), int(offsets.numel())
    places, starts = batch.all_of(indices), batch.all_of(offsets)
    if not (n_bags and are_within(places, n_rows) and _are_starts(starts, n)):
        given = (scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset)
        return loop_quietly(batch, func, weight, indices, offsets, *given, padding_idx)
    table = weight
    # How often a row is asked for is counted in each example.
    has_tables = batch.has(weight) or scale_grad_by_freq
    if has_tables:
        table = batch.all_of(weight).flatten(0, 1)
        is_padding = None if padding_idx is None else places == padding_idx % max(n_rows, 1)
        places = _own_places(batch, places, n_rows)
        if is_padding is not None:  # one row to be left out, that of no example
            padding_idx = int(table.shape[0])
            table = _core.cat([table, table.new_zeros(1, int(table.shape[1]))])
            places = _core.where(is_padding, padding_idx, places)
    factors = None if per_sample_weights is None else batch.all_of(per_sample_weights).flatten()
    # Where the last offset is an end, what follows it makes a bag that nobody asks for.
    y, bag_of, sizes, largest = func(
        table, places.flatten(), _own_places(batch, starts, n).flatten(), scale_grad_by_freq, mode,
        sparse and not has_tables, factors, False, padding_idx,
    )  # fmt: skip
    n_kept = n_bags - 1 if include_last_offset else n_bags

    def by_bag(values: Tensor) -> Any:
        return values.unflatten(0, (batch.size, n_bags))[:, :n_kept]

    first = _core.arange(batch.size, device=places.device)
    n_told = n if bag_of.numel() else 0  # not all modes tell
    bag_of = bag_of.reshape(batch.size, n_told) - first.unsqueeze(1) * n_bags
    largest = by_bag(largest)
    if has_tables and mode == _MAXIMA:
        own = largest - (first * n_rows).reshape(-1, 1, 1)
        largest = _core.where(largest < 0, largest, own)
    return tuple(map(batch.wrap, (by_bag(y), bag_of, by_bag(sizes), largest)))


_MAXIMA = 2  # how the core counts the modes of bags


def _are_starts(offsets: Tensor, n: int) -> bool:
    values = all_values(offsets)
    is_rising = bool((values.diff(dim=-1) >= 0).all())
    return is_rising and bool((values.select(-1, 0) == 0).all()) and are_within(values, n + 1)


@rule("searchsorted", "bucketize")
def searchsorted(batch: Batch, func: _Function, *args: Any, **kwargs: Any) -> Any:
    is_bucketize = func.__name__ == "bucketize"
    given = list(args)
    bounds = kwargs.pop("boundaries" if is_bucketize else "sorted_sequence", None)
    if bounds is None:
        bounds = given.pop(1 if is_bucketize else 0)
    values = given[0] if given else kwargs.pop("input")
    sorter = kwargs.pop("sorter", None)
    if not isinstance(values, Tensor):
        dtype = _core.result_type(bounds, values)
        values = _core.full((), values, dtype=dtype, device=bounds.device)
        bounds = (
            batch.wrap(batch.lower(bounds).to(dtype)) if batch.has(bounds) else bounds.to(dtype)
        )
    if bounds.dim() == 1 and not batch.has(bounds) and not batch.has(sorter):
        named = {**kwargs, "sorter": sorter} if sorter is not None else kwargs
        return batch.wrap(_core.searchsorted(bounds, batch.lower(values), **named))
    everything = batch.all_of(values)
    if bounds.dim() == 1:  # for which an example may have values of any shape
        everything = as_rows(everything)
    elif is_bucketize or values.dim() != bounds.dim():
        return loop_quietly(batch, func, *((values, bounds) if is_bucketize else (bounds, values)))
    if sorter is not None:
        kwargs["sorter"] = batch.all_of(sorter).contiguous()
    places = _core.searchsorted(
        batch.all_of(bounds).contiguous(), everything.contiguous(), **kwargs
    )
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
    if batch.has_one_value(masks):
        parts = tuple(example(batch, i, 0) if _is_mask(i) else i for i in parts)
        if not batch.has_any((x, parts)):
            return func(x, parts)
    elif any(map(batch.has, masks)):
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
    view, together, to, n_index_dims = _advanced(batch, x, parts)
    y = view[together]
    # Now (N, dims of the indices, the rest); they belong behind the first `to` of the rest.
    if to and n_index_dims:
        y = y.movedim(list(range(1, n_index_dims + 1)), list(range(to + 1, to + n_index_dims + 1)))
    return y


def _put(
    batch: Batch, x: Tensor, parts: tuple[Any, ...], values: Any, accumulate: bool = False
) -> None:
    """``x[parts] = values`` for all examples, where parts have integer tensors among them."""
    view, together, to, n_index_dims = _advanced(batch, x, parts)
    if not isinstance(values, Tensor):
        values = _core.tensor(values, dtype=x.dtype, device=x.device)
    target = view.detach()[together]  # for its shape
    values = aligned(batch, values, int(target.dim()) - 1).to(x.dtype)
    if to and n_index_dims:
        back = (list(range(to + 1, to + n_index_dims + 1)), list(range(1, n_index_dims + 1)))
        sizes = target.movedim(back[1], back[0]).shape
        values = values.expand(sizes).movedim(*back)
    view.index_put_(
        tuple(None if isinstance(i, slice) else i for i in together), values, accumulate
    )


def _advanced(
    batch: Batch, x: Tensor, parts: tuple[Any, ...]
) -> tuple[Tensor, tuple[Any, ...], int, int]:
    """A view of all examples with its index, where its result belongs, and of how many dims."""
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
    if is_batched and batch.has(x):
        own = _core.arange(batch.size, device=view.device).reshape(-1, *(1,) * n_index_dims)
        return view, (own, *lowered), to, n_index_dims
    if is_batched:
        return view, tuple(lowered), to, n_index_dims
    return view, (slice(None), *lowered), to, n_index_dims


def _shape_of_both(x: Tensor, y: Tensor) -> Any:
    return (_core.zeros(()).expand(x.shape) * _core.zeros(()).expand(y.shape)).shape


@rule("masked_select")
def masked_select(batch: Batch, func: _Function, x: Tensor, mask: Tensor) -> Any:
    if batch.has(mask):
        return getitem(batch, func, x, mask)  # raises
    n_dims = max(int(x.dim()), int(mask.dim()))
    values = aligned(batch, x, n_dims)
    shape = _shape_of_both(x, mask)
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
    parts = tuple(i if _is_basic(i) or isinstance(i, Tensor) else _core.tensor(i) for i in parts)
    if any(batch.has(i) for i in parts if _is_mask(i)):
        loop_quietly(batch, func, x, index, value)  # a batched mask takes other places in each
    else:
        _put(batch, x, _without_masks(parts), value)
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


@rule("index_put", "index_put_")
def index_put(
    batch: Batch, func: _Function, x: Tensor, indices: Any, values: Tensor, accumulate: bool = False
) -> Any:
    parts = tuple(slice(None) if i is None else i for i in indices)
    if any(batch.has(i) for i in parts if _is_mask(i)):
        if len(parts) == 1 and values.dim() == 0 and values.dtype == x.dtype:
            return _fill_under(batch, func, x, parts[0], values, accumulate)
        return loop_quietly(batch, func, x, indices, values, accumulate)
    y = x
    if writes_to_first(func.__name__):
        check_writable(batch, func, (x,))
    else:
        y = batch.wrap(batch.all_of(x).clone())
    _put(batch, y, _without_masks(parts), values, accumulate)
    return y


def _fill_under(
    batch: Batch, func: _Function, x: Tensor, mask: Any, value: Tensor, accumulate: bool
) -> Any:
    """One value under a mask: no example has to count how many places that are."""
    if tuple(mask.shape) != tuple(x.shape[: mask.dim()]):
        return loop_quietly(batch, func, x, (mask,), value, accumulate)  # raises
    n_more = int(x.dim() - mask.dim())
    is_there = batch.all_of(mask).reshape(batch.size, *mask.shape, *(1,) * n_more)
    before = batch.all_of(x)
    after = batch.all_of(value).reshape(batch.size, *(1,) * int(x.dim()))
    y = _core.where(is_there, before + after if accumulate else after, before)
    return _result(batch, func, x, y)


@rule("put", "put_")
def put(
    batch: Batch, func: _Function, x: Tensor, index: Tensor, source: Tensor,
    accumulate: bool = False,
) -> Any:  # fmt: skip
    n = int(x.numel())
    places = as_rows(batch.all_of(index))
    places = _core.where(places < 0, places + n, places)
    if index.numel() != source.numel() or not are_within(places, n):
        return loop_quietly(batch, func, x, index, source, accumulate)  # raises
    y = _core.put(
        batch.all_of(x).reshape(-1), _own_places(batch, places, n).flatten(),
        batch.all_of(source).reshape(-1), accumulate,
    ).reshape(batch.size, *x.shape)  # fmt: skip
    return _result(batch, func, x, y)


@rule("masked_scatter", "masked_scatter_")
def masked_scatter(batch: Batch, func: _Function, x: Tensor, mask: Tensor, source: Tensor) -> Any:
    shape = _shape_of_both(x, mask)
    wide, is_taken = (
        aligned(batch, t, len(shape)).expand(batch.size, *shape).flatten(1) for t in (x, mask)
    )
    values = as_rows(batch.all_of(source))
    # The places under the mask take the elements of the source in their order.
    places = is_taken.to(_core.int64).cumsum(1) - 1
    if source.dtype != x.dtype or not are_within(places + 1, int(values.shape[1]) + 1):
        return loop_quietly(batch, func, x, mask, source)  # raises
    if values.shape[1] == 0:
        return _result(batch, func, x, wide.reshape(batch.size, *shape))
    taken = values.gather(1, places.clamp_min(0))
    y = _core.where(is_taken, taken, wide).reshape(batch.size, *shape)
    return _result(batch, func, x, y)


def _result(batch: Batch, func: _Function, x: Tensor, y: Tensor) -> Any:
    """All examples of a result; written to ``x`` where the operation is in place."""
    if not writes_to_first(func.__name__):
        return batch.wrap(y)
    check_writable(batch, func, (x,))
    batch.lower(x).copy_(y)
    return x


# The number of places is another for every example, unless these happen to agree.
RULES["argwhere"] = loop_quietly
RULES["nonzero_static"] = loop_quietly
