"""Operations that make tensors, and that arrange elements in other shapes."""

from __future__ import annotations

import operator
from typing import Any

import facula
from facula.onnx._capture import positions, size_from, size_of
from facula.onnx._rows import row
from facula.onnx._sizes import smaller
from facula.onnx._writer import Dim, SizeValue, Value, Writer, flat, wrap

# ---- sizes


@row(size_of.__name__)
def size(g: Writer, x: Value, dim: int) -> Dim:
    return g.size(x, dim)


@row(size_from.__name__)
def size_of_element(g: Writer, x: Value) -> SizeValue:
    return SizeValue(g.reshape(g.cast(x, facula.int64), [1]))


def _arithmetic(name: str) -> Any:
    def translate(g: Writer, a: Dim, b: Dim) -> Any:
        if not isinstance(a, str) and not isinstance(b, str):
            return min(a, b) if name == "min" else getattr(operator, name)(a, b)
        x, y = g.ints([a]), g.ints([b])
        if name == "floordiv":
            return SizeValue(g.op("Div", g.op("Sub", x, g.op("Mod", x, y)), y))
        return SizeValue(g.op(name.capitalize(), x, y))

    return translate


# Python's functions on sizes, which are targets of nodes themselves.
SIZE_ROWS: dict[Any, Any] = {
    getattr(operator, name): _arithmetic(name) for name in ("add", "sub", "mul", "floordiv", "mod")
}
SIZE_ROWS[smaller] = _arithmetic("min")


# ---- new tensors


def filled(g: Writer, sizes: Any, value: Any) -> str:
    """A tensor of the result's dtype, with one value everywhere."""
    return g.op("Expand", g.number(value, g.result.dtype), g.ints(flat([sizes])))


@row("zeros", "empty")
def zeros(g: Writer, *sizes: Any, **options: Any) -> str:
    return filled(g, options.get("size") or flat(sizes), 0)


@row("ones")
def ones(g: Writer, *sizes: Any, **options: Any) -> str:
    return filled(g, options.get("size") or flat(sizes), 1)


@row("full")
def full(g: Writer, size: Any, fill_value: Any, **options: Any) -> str:
    return filled(g, size, fill_value)


@row("new_zeros", "new_empty")
def new_zeros(g: Writer, x: Value, *sizes: Any, **options: Any) -> str:
    return zeros(g, *sizes, **options)


@row("new_ones")
def new_ones(g: Writer, x: Value, *sizes: Any, **options: Any) -> str:
    return ones(g, *sizes, **options)


@row("new_full")
def new_full(g: Writer, x: Value, size: Any, fill_value: Any, **options: Any) -> str:
    return filled(g, size, fill_value)


@row("zeros_like", "empty_like", "zero")
def zeros_like(g: Writer, x: Value, **options: Any) -> str:
    return filled(g, g.shape(x), 0)


@row("ones_like")
def ones_like(g: Writer, x: Value, **options: Any) -> str:
    return filled(g, g.shape(x), 1)


@row("full_like", "fill")
def full_like(g: Writer, x: Value, fill_value: Any = 0, **options: Any) -> str:
    return filled(g, g.shape(x), options.get("value", fill_value))


@row("tensor", "as_tensor", "scalar_tensor")
def tensor(g: Writer, data: Any, dtype: Any = None, **options: Any) -> str:
    """A tensor of sizes, of which some are dynamic."""
    if isinstance(data, Value) and not isinstance(data, SizeValue):
        return g.cast(data, g.result.dtype)
    if isinstance(data, SizeValue):
        return g.number(data, g.result.dtype)
    if any(isinstance(item, (list, tuple)) for item in data):
        raise g.unsupported("a nested list with sizes of dynamic dimensions")
    return g.cast(g.ints(data), g.result.dtype, facula.int64)


@row("arange")
def arange(g: Writer, *ends: Any, **options: Any) -> str:
    start = options.get("start", ends[0] if len(ends) > 1 else 0)
    end = options.get("end", ends[min(len(ends) - 1, 1)] if ends else None)
    step = options.get("step", ends[2] if len(ends) > 2 else 1)
    dtype = g.result.dtype
    # Range knows few dtypes: others are counted as integers.
    counted = dtype if dtype in (facula.int32, facula.int64, facula.float32) else facula.int64
    numbers = [g.number(each, counted) for each in (start, end, step)]
    return g.cast(g.op("Range", *numbers), dtype, counted)


@row("eye")
def eye(g: Writer, n: Any, m: Any = None, **options: Any) -> str:
    whole = filled(g, [n, n if m is None else m], 0)
    return g.op("EyeLike", whole)


@row(positions.__name__)
def numbered(g: Writer, x: Value) -> str:
    total = g.op("Size", x)
    counted = g.op("Range", g.constant(0), total, g.constant(1))
    return g.reshape(counted, g.shape(x))


@row("rand", "rand_like")
def rand(g: Writer, *args: Any, **options: Any) -> str:
    like = args[0] if args and isinstance(args[0], Value) else zeros(g, *args, **options)
    return g.op("RandomUniformLike", like)


@row("randn", "randn_like")
def randn(g: Writer, *args: Any, **options: Any) -> str:
    like = args[0] if args and isinstance(args[0], Value) else zeros(g, *args, **options)
    return g.op("RandomNormalLike", like)


# ---- other shapes


@row("reshape", "view", "unsafe_view")
def reshape(g: Writer, x: Value, *shape: Any, **options: Any) -> str:
    if shape and isinstance(shape[0], facula.dtype):
        raise g.unsupported("view as another dtype")
    return g.reshape(x, options.get("shape") or options.get("size") or flat(shape))


@row("view_as", "reshape_as")
def view_as(g: Writer, x: Value, other: Value) -> str:
    return g.reshape(x, g.shape(other))


def product(g: Writer, sizes: list[Dim]) -> Dim:
    """The product of sizes."""
    total: Dim = 1
    for each in sizes:
        total = SIZE_ROWS[operator.mul](g, total, each)
    return total


@row("flatten", "ravel")
def flatten(g: Writer, x: Value, start_dim: int = 0, end_dim: int = -1) -> str:
    if x.rank == 0:
        return g.reshape(x, [1])
    start, end = wrap(start_dim, x.rank), wrap(end_dim, x.rank)
    sizes = g.shape(x)
    middle = sizes[start : end + 1]
    others = sizes[:start] + sizes[end + 1 :]
    joined = product(g, middle) if any(isinstance(s, str) for s in others) else -1
    return g.reshape(x, [*sizes[:start], joined, *sizes[end + 1 :]])


@row("squeeze")
def squeeze(g: Writer, x: Value, dim: Any = None) -> str:
    dims = range(x.rank) if dim is None else [dim] if isinstance(dim, int) else dim
    kept = [wrap(d, x.rank) for d in dims if x.rank and x.shape[d] == 1]
    return g.op("Squeeze", x, g.constant(kept)) if kept else x


@row("unsqueeze")
def unsqueeze(g: Writer, x: Value, dim: int) -> str:
    return g.op("Unsqueeze", x, g.constant([wrap(dim, x.rank + 1)]))


@row("expand", "broadcast_to")
def expand(g: Writer, x: Value, *sizes: Any, size: Any = None) -> str:
    wanted = flat(sizes) if size is None else list(size)
    new = len(wanted) - x.rank
    shape = [
        g.size(x, i - new) if not isinstance(s, str) and s == -1 else s
        for i, s in enumerate(wanted)
    ]
    return g.op("Expand", x, g.ints(shape))


@row("expand_as")
def expand_as(g: Writer, x: Value, other: Value) -> str:
    return g.op("Expand", x, g.ints(g.shape(other)))


@row("repeat", "tile")
def repeat(g: Writer, x: Value, *counts: Any, **options: Any) -> str:
    times = options.get("repeats") or options.get("dims") or flat(counts)
    times = [1] * (x.rank - len(times)) + list(times)
    wide = g.reshape(x, [1] * (len(times) - x.rank) + g.shape(x)) if len(times) > x.rank else x
    return g.op("Tile", wide, g.ints(times))


def permuted(g: Writer, x: str, order: list[int]) -> str:
    """A value with its dimensions in another order."""
    return g.op("Transpose", x, perm=order)


@row("permute")
def permute(g: Writer, x: Value, *dims: Any, **options: Any) -> str:
    order = options.get("dims") or flat(dims)
    return permuted(g, x, [wrap(d, x.rank) for d in order])


@row("transpose", "swapaxes", "swapdims")
def transpose(g: Writer, x: Value, dim0: int, dim1: int) -> str:
    order = list(range(x.rank))
    a, b = wrap(dim0, x.rank), wrap(dim1, x.rank)
    if x.rank:
        order[a], order[b] = order[b], order[a]
    return permuted(g, x, order)


@row("t", "T.__get__")
def t(g: Writer, x: Value) -> str:
    return permuted(g, x, list(reversed(range(x.rank))))


@row("mT.__get__", "adjoint", "mH.__get__")
def matrix_transpose(g: Writer, x: Value) -> str:
    return transpose(g, x, -1, -2)


@row("movedim", "moveaxis")
def movedim(g: Writer, x: Value, source: Any, destination: Any) -> str:
    sources = [source] if isinstance(source, int) else list(source)
    places = [destination] if isinstance(destination, int) else list(destination)
    order: list[int | None] = [None] * x.rank
    for a, b in zip(sources, places, strict=True):
        order[wrap(b, x.rank)] = wrap(a, x.rank)
    rest = iter(d for d in range(x.rank) if d not in order)
    return permuted(g, x, [next(rest) if d is None else d for d in order])


@row("cat", "concat", "concatenate")
def cat(g: Writer, tensors: Any, dim: int = 0) -> str:
    # Legacy: an empty tensor of one dimension takes no part.
    parts = [t for t in tensors if t.shape != (0,) or len(g.result.shape) == 1]
    return g.op("Concat", *(g.cast(t, g.result.dtype) for t in parts), axis=dim)


@row("stack")
def stack(g: Writer, tensors: Any, dim: int = 0) -> str:
    at = g.constant([wrap(dim, tensors[0].rank + 1)])
    wide = [g.op("Unsqueeze", g.cast(t, g.result.dtype), at) for t in tensors]
    return g.op("Concat", *wide, axis=wrap(dim, tensors[0].rank + 1))


def _sections(g: Writer, x: Value, dim: int) -> list[str]:
    """The pieces that the result has; at most one of them may have a dynamic size."""
    dim = wrap(dim, x.rank)
    sizes: list[Any] = [form.shape[dim] for form in g.result]
    unknown = sizes.count(None)
    if unknown == len(sizes):
        return g.ops("Split", len(sizes), x, axis=dim, num_outputs=len(sizes))
    if unknown > 1:
        raise g.unsupported("a split into several pieces of dynamic sizes")
    if unknown:
        total = sum(s or 0 for s in sizes)
        rest = SIZE_ROWS[operator.sub](g, g.size(x, dim), total)
        sizes = [rest if s is None else s for s in sizes]
    return g.ops("Split", len(sizes), x, g.ints(sizes), axis=dim)


@row("chunk", "tensor_split")
def chunk(g: Writer, x: Value, chunks: Any, dim: int = 0) -> list[str]:
    return _sections(g, x, dim)


@row("split", "split_with_sizes", "unsafe_split", "unsafe_chunk")
def split(g: Writer, x: Value, sizes: Any = None, dim: int = 0, **options: Any) -> list[str]:
    given = sizes if sizes is not None else next(iter(options.values()))
    if isinstance(given, (list, tuple)):
        return g.ops("Split", len(given), x, g.ints(given), axis=wrap(dim, x.rank))
    return _sections(g, x, dim)


@row("unbind")
def unbind(g: Writer, x: Value, dim: int = 0) -> list[str]:
    at = wrap(dim, x.rank)
    return [g.op("Gather", x, g.constant(i), axis=at) for i in range(len(g.result))]


@row("flip")
def flip(g: Writer, x: Value, *dims: Any, **options: Any) -> str:
    at = options.get("dims") or flat(dims)
    at = [wrap(d, x.rank) for d in at]
    ends = [-(2**63) + 1] * len(at)
    start, step = g.constant([-1] * len(at)), g.constant([-1] * len(at))
    return g.op("Slice", x, start, g.constant(ends), g.constant(at), step)


@row("roll")
def roll(g: Writer, x: Value, shifts: Any, dims: Any = None) -> str:
    if dims is None or dims == ():
        y: str = g.reshape(x, [-1])
        (shift,) = shifts if isinstance(shifts, (list, tuple)) else (shifts,)
        return g.reshape(_rolled(g, y, shift, 0), g.shape(x))
    pairs = zip(
        shifts if isinstance(shifts, (list, tuple)) else [shifts],
        dims if isinstance(dims, (list, tuple)) else [dims],
        strict=True,
    )
    y = x
    for shift, dim in pairs:
        y = _rolled(g, y, shift, wrap(dim, x.rank))
    return y


def _rolled(g: Writer, x: str, shift: Any, dim: int) -> str:
    """The last ``shift`` elements in front; a negative shift takes the first to the end."""
    if not isinstance(shift, str) and shift == 0:
        return x
    cut = g.ints([SIZE_ROWS[operator.sub](g, 0, shift)])
    at, end = g.constant([dim]), g.constant([2**63 - 1])
    back = g.op("Slice", x, cut, end, at)
    front = g.op("Slice", x, g.constant([0]), cut, at)
    return g.op("Concat", back, front, axis=dim)


def _triangle(g: Writer, x: Value, diagonal: Any, upper: int) -> str:
    k = g.number(diagonal, facula.int64)
    if x.dtype == facula.bool:
        numbers = g.op("Trilu", g.cast(x, facula.int64), k, upper=upper)
        return g.cast(numbers, facula.bool, facula.int64)
    return g.op("Trilu", x, k, upper=upper)


@row("tril")
def tril(g: Writer, x: Value, diagonal: Any = 0) -> str:
    return _triangle(g, x, diagonal, 0)


@row("triu")
def triu(g: Writer, x: Value, diagonal: Any = 0) -> str:
    return _triangle(g, x, diagonal, 1)


@row("pixel_shuffle")
def pixel_shuffle(g: Writer, x: Value, upscale_factor: int) -> str:
    return g.op("DepthToSpace", x, blocksize=upscale_factor, mode="CRD")


@row("pixel_unshuffle")
def pixel_unshuffle(g: Writer, x: Value, downscale_factor: int) -> str:
    r = downscale_factor
    n, c, height, width = g.shape(x)
    rows, columns = (SIZE_ROWS[operator.floordiv](g, size, r) for size in (height, width))
    cells = permuted(g, g.reshape(x, [n, c, rows, r, columns, r]), [0, 1, 3, 5, 2, 4])
    return g.reshape(cells, [n, SIZE_ROWS[operator.mul](g, c, r * r), rows, columns])


@row("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(g: Writer, x: Value, groups: int) -> str:
    n, c, *spatial = g.shape(x)
    wide = g.reshape(x, [n, groups, SIZE_ROWS[operator.floordiv](g, c, groups), *spatial])
    order = [0, 2, 1, *range(3, x.rank + 1)]
    return g.reshape(permuted(g, wide, order), [n, c, *spatial])
