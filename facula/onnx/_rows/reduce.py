"""Operations that join the elements of dimensions."""

from __future__ import annotations

from typing import Any

import facula
from facula.onnx._capture import Form
from facula.onnx._rows import row
from facula.onnx._writer import SizeValue, Value, Writer, wrap


def axes(x: Value, dim: Any) -> list[int]:
    """The dimensions that are joined, counted from the front: all of them for None or ``()``."""
    if dim is None or dim == () or dim == []:
        return list(range(x.rank))
    return [wrap(d, x.rank) for d in (dim if isinstance(dim, (list, tuple)) else [dim])]


def reduced(g: Writer, kind: str, x: str, dims: list[int], keepdim: bool) -> str:
    """A value joined by one of ONNX's reductions."""
    if not dims:
        return x
    return g.op(kind, x, g.constant(dims), keepdims=int(keepdim))


def count(g: Writer, x: Value, dims: list[int], dtype: facula.dtype) -> str:
    """How many elements are joined to one."""
    total = 1
    dynamic: list[str] = []
    for dim in dims:
        size = g.size(x, dim)
        if isinstance(size, SizeValue):
            dynamic.append(g.number(size, dtype))
        else:
            total *= size
    n = g.constant(total, dtype)
    for each in dynamic:
        n = g.op("Mul", n, each)
    return n


@row("sum")
def sum(g: Writer, x: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> str:
    return reduced(g, "ReduceSum", g.cast(x, g.result.dtype), axes(x, dim), keepdim)


@row("mean")
def mean(g: Writer, x: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> str:
    return reduced(g, "ReduceMean", g.cast(x, g.result.dtype), axes(x, dim), keepdim)


@row("prod")
def prod(g: Writer, x: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> str:
    return reduced(g, "ReduceProd", g.cast(x, g.result.dtype), axes(x, dim), keepdim)


@row("amax")
def amax(g: Writer, x: Value, dim: Any = None, keepdim: bool = False) -> str:
    return reduced(g, "ReduceMax", x, axes(x, dim), keepdim)


@row("amin")
def amin(g: Writer, x: Value, dim: Any = None, keepdim: bool = False) -> str:
    return reduced(g, "ReduceMin", x, axes(x, dim), keepdim)


def _extreme(g: Writer, x: Value, dim: Any, keepdim: bool, name: str) -> Any:
    from facula.onnx._rows.pointwise import maximum, minimum

    if isinstance(dim, Value):
        return (maximum if name == "Max" else minimum)(g, x, dim)
    if dim is None:
        return reduced(g, f"Reduce{name}", x, axes(x, None), False)
    values = reduced(g, f"Reduce{name}", x, axes(x, dim), keepdim)
    return [values, g.op(f"Arg{name}", x, axis=dim, keepdims=int(keepdim))]


@row("max")
def max(g: Writer, x: Value, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    return _extreme(g, x, dim if other is None else other, keepdim, "Max")


@row("min")
def min(g: Writer, x: Value, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    return _extreme(g, x, dim if other is None else other, keepdim, "Min")


def _place(g: Writer, x: Value, dim: int | None, keepdim: bool, kind: str) -> str:
    if dim is None:
        return g.op(kind, g.reshape(x, [-1]), axis=0, keepdims=0)
    return g.op(kind, x, axis=dim, keepdims=int(keepdim))


@row("argmax")
def argmax(g: Writer, x: Value, dim: int | None = None, keepdim: bool = False) -> str:
    return _place(g, x, dim, keepdim, "ArgMax")


@row("argmin")
def argmin(g: Writer, x: Value, dim: int | None = None, keepdim: bool = False) -> str:
    return _place(g, x, dim, keepdim, "ArgMin")


def _truth(g: Writer, x: Value, dim: Any, keepdim: bool, kind: str) -> str:
    numbers = g.cast(g.cast(x, facula.bool), facula.int32, facula.bool)
    result = reduced(g, kind, numbers, axes(x, dim), keepdim)
    return g.cast(result, facula.bool, facula.int32)


@row("all")
def all(g: Writer, x: Value, dim: Any = None, keepdim: bool = False) -> str:
    return _truth(g, x, dim, keepdim, "ReduceMin")


@row("any")
def any(g: Writer, x: Value, dim: Any = None, keepdim: bool = False) -> str:
    return _truth(g, x, dim, keepdim, "ReduceMax")


@row("logsumexp")
def logsumexp(g: Writer, x: Value, dim: Any, keepdim: bool = False) -> str:
    return reduced(g, "ReduceLogSumExp", x, axes(x, dim), keepdim)


@row("var")
def var(
    g: Writer,
    x: Value,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    correction: Any = None,
) -> str:
    if isinstance(dim, bool):  # var(x, unbiased)
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    dims = axes(x, dim)
    centred = g.op("Sub", x, reduced(g, "ReduceMean", x, dims, True))
    squares = reduced(g, "ReduceSum", g.op("Mul", centred, centred), dims, keepdim)
    n = g.op("Sub", count(g, x, dims, x.dtype), g.constant(correction, x.dtype))
    return g.op("Div", squares, g.op("Max", n, g.constant(0, x.dtype)))


@row("std")
def std(g: Writer, x: Value, *args: Any, **kwargs: Any) -> str:
    return g.op("Sqrt", var(g, x, *args, **kwargs))


@row("var_mean")
def var_mean(g: Writer, x: Value, dim: Any = None, **kwargs: Any) -> list[str]:
    keepdim = kwargs.get("keepdim", False)
    return [var(g, x, dim, **kwargs), reduced(g, "ReduceMean", x, axes(x, dim), keepdim)]


@row("vector_norm", "linalg_vector_norm")
def vector_norm(
    g: Writer, x: Value, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> str:
    dims = axes(x, dim)
    x = Value(g.cast(x, g.result.dtype), Form(g.result.dtype, x.shape))
    if ord in (1, 2):
        return reduced(g, f"ReduceL{int(ord)}", x, dims, keepdim)
    size = g.op("Abs", x)
    if ord in (float("inf"), float("-inf")):
        return reduced(g, "ReduceMax" if ord > 0 else "ReduceMin", size, dims, keepdim)
    if ord == 0:
        differs = g.op("Not", g.op("Equal", x, g.constant(0, x.dtype)))
        return reduced(g, "ReduceSum", g.cast(differs, x.dtype), dims, keepdim)
    total = reduced(g, "ReduceSum", g.op("Pow", size, g.constant(ord, x.dtype)), dims, keepdim)
    return g.op("Pow", total, g.constant(1 / ord, x.dtype))


@row("norm")
def norm(
    g: Writer, x: Value, p: Any = None, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> str:
    return vector_norm(g, x, 2 if p in (None, "fro") else p, dim, keepdim, dtype)


@row("cumsum")
def cumsum(g: Writer, x: Value, dim: int, dtype: Any = None) -> str:
    return g.op("CumSum", g.cast(x, g.result.dtype), g.constant(wrap(dim, x.rank)))


@row("cumprod")
def cumprod(g: Writer, x: Value, dim: int, dtype: Any = None) -> str:
    # There is no operator in the opsets that runtimes know: each product joins its own row of a
    # square, in which what comes later is 1.
    dtype = g.result.dtype
    if x.rank == 0:
        return g.cast(x, dtype)
    at, n = wrap(dim, x.rank), g.size(x, dim)
    square = g.op("Trilu", g.op("Expand", g.constant(1), g.ints([n, n])), upper=0)
    is_before = g.cast(square, facula.bool, facula.int64)
    behind = list(range(2, 1 + x.rank - at))
    if behind:
        is_before = g.op("Unsqueeze", is_before, g.constant(behind))
    rows = g.op("Unsqueeze", g.cast(x, dtype), g.constant([at]))
    factors = g.op("Where", is_before, rows, g.constant(1, dtype))
    return reduced(g, "ReduceProd", factors, [at + 1], False)


@row("topk")
def topk(
    g: Writer, x: Value, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
) -> list[str]:
    flags = {"largest": int(largest), "sorted": int(sorted)}
    return g.ops("TopK", 2, x, g.ints([k]), axis=wrap(dim, x.rank), **flags)


@row("sort")
def sort(
    g: Writer, x: Value, dim: int = -1, descending: bool = False, stable: Any = None
) -> list[str]:
    return topk(g, x, g.size(x, dim), dim, descending)


@row("argsort")
def argsort(
    g: Writer, x: Value, dim: int = -1, descending: bool = False, stable: Any = None
) -> str:
    return sort(g, x, dim, descending)[1]
