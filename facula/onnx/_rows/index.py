"""Operations that pick elements, and that put elements into places."""

from __future__ import annotations

import operator
from typing import Any

import facula
from facula.onnx._capture import Form, put_at
from facula.onnx._rows import row
from facula.onnx._rows.shape import SIZE_ROWS, numbered, permuted
from facula.onnx._writer import SizeValue, Value, Writer, wrap

_LAST = 2**63 - 1


@row("__getitem__")
def getitem(g: Writer, x: Value, index: Any) -> str:
    """``x[index]``: numbers and slices first, then the tensors, as PyTorch does."""
    items = list(index) if isinstance(index, tuple) else [index]
    used = sum(_n_dims(item) for item in items)
    if Ellipsis not in [item for item in items if not isinstance(item, str)]:
        items.append(Ellipsis)
    at = next(i for i, item in enumerate(items) if item is Ellipsis)
    items[at : at + 1] = [slice(None)] * (x.rank - used)

    y, kept = _sliced(g, x, items)
    if not any(isinstance(item, Value) for item in kept):
        return y
    return _picked(g, y, kept)


def _n_dims(item: Any) -> int:
    """How many dimensions of a tensor an item of an index stands for."""
    if item is None or item is Ellipsis:
        return 0
    is_mask = isinstance(item, Value) and item.dtype == facula.bool
    return item.rank if is_mask else 1


def _sliced(g: Writer, x: Value, items: list[Any]) -> tuple[str, list[Any]]:
    """The value after slices, numbers and None; and what is left: tensors, and None for others."""
    starts, ends, dims, steps = [], [], [], []
    dropped, added, kept = [], [], []
    dim = place = 0  # in x, and in what is left of it
    for item in items:
        if item is None:
            added.append(place)
        elif isinstance(item, slice):
            if (item.start, item.stop, item.step) != (None, None, None):
                starts.append(0 if item.start is None else item.start)
                ends.append(_LAST if item.stop is None else item.stop)
                steps.append(1 if item.step is None else item.step)
                dims.append(dim)
        elif isinstance(item, SizeValue) or not isinstance(item, Value):
            starts.append(item)
            end = SIZE_ROWS[operator.add](g, item, 1)
            ends.append(_LAST if not isinstance(end, str) and end == 0 else end)
            steps.append(1)
            dims.append(dim)
            dropped.append(dim)
            dim += 1
            continue
        kept.append(item if isinstance(item, Value) else None)
        place += 1
        dim += 0 if item is None else _n_dims(item)
        if isinstance(item, Value) and _n_dims(item) > 1:
            place += _n_dims(item) - 1
    y: str = x
    if dims:
        y = g.op("Slice", y, g.ints(starts), g.ints(ends), g.constant(dims), g.ints(steps))
    if dropped:
        y = g.op("Squeeze", y, g.constant(dropped))
    if added:
        y = g.op("Unsqueeze", y, g.constant(added))
    return y, kept


def _picked(g: Writer, x: str, items: list[Any]) -> str:
    """Elements of ``x`` at the places that tensors give, None standing for a whole dimension."""
    places: list[tuple[int, str]] = []  # dimension, indices
    ranks = []
    dim = 0
    for item in items:
        if item is None:
            dim += 1
        elif item.dtype == facula.bool:
            rows = g.ops("Split", item.rank, g.op("NonZero", item), axis=0, num_outputs=item.rank)
            for each in rows:
                places.append((dim, g.reshape(each, [-1])))
                dim += 1
            ranks.append(1)
        else:
            places.append((dim, g.cast(item, facula.int64)))
            dim += 1
            ranks.append(item.rank)
    dims = [d for d, _ in places]
    if len(places) == 1:
        return g.op("Gather", x, places[0][1], axis=dims[0])
    common = places[0][1]
    for _, each in places[1:]:
        common = g.op("Add", common, each)
    shape = g.op("Shape", common)
    columns = [g.op("Unsqueeze", g.op("Expand", p, shape), g.constant([-1])) for _, p in places]
    rest = [d for d in range(dim) if d not in dims]
    front = x if dims == list(range(len(dims))) else permuted(g, x, dims + rest)
    y = g.op("GatherND", front, g.op("Concat", *columns, axis=-1))
    # Indices that are side by side leave their dimensions where they were.
    is_together = dims == list(range(dims[0], dims[0] + len(dims)))
    if not is_together or dims[0] == 0:
        return y
    n_new = max(ranks)
    before = [n_new + i for i in range(dims[0])]
    after = [n_new + i for i in range(dims[0], len(rest))]
    return permuted(g, y, before + list(range(n_new)) + after)


@row(put_at.__name__)
def put(g: Writer, x: Value, places: Value, values: Any, reduction: str | None = None) -> str:
    """``x`` with values at places that are counted through all of it."""
    number = g.number(values, x.dtype)
    wide = g.op("Expand", number, g.op("Shape", places))
    flat = [g.reshape(each, [-1]) for each in (x, places, wide)]
    return g.reshape(g.op("ScatterElements", *flat, axis=0, reduction=reduction), g.shape(x))


@row("copy")
def copy(g: Writer, x: Value, src: Value, non_blocking: bool = False) -> str:
    return g.op("Expand", g.cast(src, x.dtype), g.op("Shape", x))


@row("index_put")
def index_put(g: Writer, x: Value, indices: Any, values: Value, accumulate: bool = False) -> str:
    numbers = Value(numbered(g, x), Form(facula.int64, x.shape))
    index = tuple(slice(None) if i is None else i for i in indices)
    places = Value(getitem(g, numbers, index), Form(facula.int64, ()))
    return put(g, x, places, values, "add" if accumulate else None)


@row("index_copy")
def index_copy(g: Writer, x: Value, dim: int, index: Value, src: Value) -> str:
    at = wrap(dim, x.rank)
    if at == 0:
        return g.op("ScatterND", x, g.op("Unsqueeze", index, g.constant([1])), src)
    return index_put(g, x, (*[None] * at, index), src)


@row("select")
def select(g: Writer, x: Value, dim: int, index: Any) -> str:
    place = g.number(index, facula.int64)
    return g.op("Gather", x, place, axis=wrap(dim, x.rank))


@row("narrow")
def narrow(g: Writer, x: Value, dim: int, start: Any, length: Any) -> str:
    end = SIZE_ROWS[operator.add](g, start, length)
    return g.op("Slice", x, g.ints([start]), g.ints([end]), g.constant([wrap(dim, x.rank)]))


@row("index_select")
def index_select(g: Writer, x: Value, dim: int, index: Value) -> str:
    y = g.op("Gather", x, index, axis=wrap(dim, x.rank))
    return y if index.rank else g.op("Unsqueeze", y, g.constant([wrap(dim, x.rank)]))


@row("embedding")
def embedding(g: Writer, weight: Value, indices: Value, *args: Any, **kwargs: Any) -> str:
    return g.op("Gather", weight, indices)


@row("gather")
def gather(g: Writer, x: Value, dim: int, index: Value, sparse_grad: bool = False) -> str:
    return g.op("GatherElements", x, index, axis=wrap(dim, x.rank))


@row("take_along_dim")
def take_along_dim(g: Writer, x: Value, indices: Value, dim: int | None = None) -> str:
    if dim is None:
        return g.op("Gather", g.reshape(x, [-1]), g.reshape(indices, [-1]))
    if x.shape != indices.shape and any(
        a != b
        for i, (a, b) in enumerate(zip(x.shape, indices.shape, strict=True))
        if i != wrap(dim, x.rank)
    ):
        raise g.unsupported("take_along_dim with tensors that are broadcast")
    return gather(g, x, dim, indices)


@row("take")
def take(g: Writer, x: Value, index: Value) -> str:
    return g.op("Gather", g.reshape(x, [-1]), index)


_REDUCTIONS = {None: None, "add": "add", "sum": "add", "multiply": "mul", "prod": "mul"}
_REDUCTIONS |= {"amax": "max", "amin": "min"}


@row("scatter")
def scatter(
    g: Writer,
    x: Value,
    dim: int,
    index: Value,
    src: Any = None,
    reduce: str | None = None,
    value: Any = None,
) -> str:
    given = value if src is None else src
    shape = g.op("Shape", index)
    if isinstance(given, Value) and given.rank == index.rank and given.rank:
        axes = g.constant(list(range(index.rank)))
        updates = g.op("Slice", given, g.constant([0] * index.rank), shape, axes)
    else:
        updates = g.op("Expand", g.number(given, x.dtype), shape)
    at = wrap(dim, x.rank)
    return g.op("ScatterElements", x, index, updates, axis=at, reduction=_REDUCTIONS[reduce])


@row("scatter_add")
def scatter_add(g: Writer, x: Value, dim: int, index: Value, src: Value) -> str:
    return scatter(g, x, dim, index, src, "add")


@row("scatter_reduce")
def scatter_reduce(
    g: Writer, x: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool = True
) -> str:
    if not include_self or reduce == "mean":
        raise g.unsupported(f"scatter_reduce of {reduce!r} with include_self={include_self}")
    return scatter(g, x, dim, index, src, reduce)


@row("index_add")
def index_add(g: Writer, x: Value, dim: int, index: Value, source: Value, alpha: Any = 1) -> str:
    at = wrap(dim, x.rank)
    line = g.reshape(index, [-1 if i == at else 1 for i in range(x.rank)])
    wide = g.op("Expand", line, g.op("Shape", source))
    values = g.op("Mul", source, g.constant(alpha, x.dtype))
    return g.op("ScatterElements", x, wide, values, axis=at, reduction="add")


@row("one_hot")
def one_hot(g: Writer, x: Value, num_classes: int = -1) -> str:
    if num_classes < 0:
        raise g.unsupported("one_hot without num_classes")
    return g.op("OneHot", x, g.constant([num_classes]), g.constant([0, 1]), axis=-1)


@row("masked_select")
def masked_select(g: Writer, x: Value, mask: Value) -> str:
    if x.rank != mask.rank:
        raise g.unsupported("masked_select with tensors of different ranks")
    return getitem(g, x, mask)


@row("nonzero", "argwhere")
def nonzero(g: Writer, x: Value, as_tuple: bool = False) -> Any:
    places = g.op("NonZero", x)
    if not as_tuple:
        return permuted(g, places, [1, 0])
    rows = g.ops("Split", x.rank, places, axis=0, num_outputs=x.rank)
    return [g.reshape(each, [-1]) for each in rows]


@row("bucketize")
def bucketize(
    g: Writer, x: Value, boundaries: Value, out_int32: bool = False, right: bool = False
) -> str:
    wide = g.op("Unsqueeze", x, g.constant([-1]))
    limits = g.cast(boundaries, x.dtype)
    passed = g.op("LessOrEqual" if right else "Less", limits, wide)
    number = g.cast(passed, g.result.dtype, facula.bool)
    return g.op("ReduceSum", number, g.constant([-1]), keepdims=0)


@row("unfold")
def unfold(g: Writer, x: Value, dimension: int, size: int, step: int) -> str:
    at = wrap(dimension, x.rank)
    n = g.result.shape[at]
    if n is None:
        raise g.unsupported("unfold of a dynamic dimension")
    windows = [[i * step + k for k in range(size)] for i in range(n)]
    y = g.op("Gather", x, g.constant(windows), axis=at)
    order = [d for d in range(x.rank + 1) if d != at + 1]
    return permuted(g, y, [*order, at + 1])


@row("diagonal")
def diagonal(g: Writer, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> str:
    a, b = wrap(dim1, x.rank), wrap(dim2, x.rank)
    n = g.result.shape[-1]
    if n is None:
        raise g.unsupported("a diagonal of dynamic dimensions")
    others = [d for d in range(x.rank) if d not in (a, b)]
    front = permuted(g, x, [a, b, *others])
    places = [[max(-offset, 0) + i, max(offset, 0) + i] for i in range(n)]
    y = g.op("GatherND", front, g.constant(places))
    return permuted(g, y, [*range(1, len(others) + 1), 0])
