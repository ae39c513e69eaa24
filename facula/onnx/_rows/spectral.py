"""Fourier transforms, and what can be done with complex numbers.

ONNX's operators know no complex numbers: a complex value is a real one with a last dimension of
two, as ``view_as_real`` shows it. Only the rows of this table take and make such values.
"""

from __future__ import annotations

import math
from typing import Any

import facula
from facula.onnx._rows import Row
from facula.onnx._writer import Value, Writer, wrap

COMPLEX_ROWS: dict[str, Row] = {}


def _row(function: Row) -> Row:
    COMPLEX_ROWS[function.__name__] = function
    return function


def _part(g: Writer, x: str, index: int) -> str:
    return g.op("Gather", x, g.constant(index), axis=-1)


def _joined(g: Writer, real: str, imag: str) -> str:
    last = g.constant([-1])
    return g.op("Concat", g.op("Unsqueeze", real, last), g.op("Unsqueeze", imag, last), axis=-1)


def _pairs(g: Writer, x: Any) -> str:
    """A value as pairs; those of real numbers have zeros."""
    if isinstance(x, Value) and not x.dtype.is_complex:
        zeros = g.op("Sub", x, x)
        return _joined(g, x, zeros)
    return str(x)


def _conjugate(g: Writer, x: str, dtype: facula.dtype) -> str:
    return g.op("Mul", x, g.constant([1.0, -1.0], dtype.to_real()))


def _dft(
    g: Writer, x: str, dim: int, n: int | None, is_inverse: bool, is_half: bool = False
) -> str:
    length = None if n is None else g.constant(n)
    options = {"inverse": int(is_inverse), "onesided": int(is_half)}
    if g.opset < 20:
        return g.op("DFT", x, length, axis=dim, **options)
    return g.op("DFT", x, length, g.constant(dim), **options)


def _transformed(
    g: Writer, x: Value, sizes: Any, dims: Any, is_one: bool
) -> tuple[list[int], list[int | None]]:
    """The dimensions of a transform, counted from the front, and the sizes that were asked for."""
    if is_one:
        return [wrap(dims, x.rank)], [sizes]
    if dims is None:
        dims = range(x.rank) if sizes is None else range(x.rank - len(sizes), x.rank)
    places = [wrap(dim, x.rank) for dim in dims]
    return places, list(sizes) if sizes is not None else [None] * len(places)


def _scaled(
    g: Writer, y: str, n: list[int | None], norm: str | None, is_forward: bool, dtype: facula.dtype
) -> str:
    """ONNX scales the inverse alone, by ``1 / n``."""
    powers = {"ortho": -0.5, "forward": -1.0} if is_forward else {"ortho": 0.5, "forward": 1.0}
    power = powers.get(norm or "backward")
    if power is None:
        return y
    if None in n:
        raise g.unsupported(f"a Fourier transform of a dynamic size with norm={norm!r}")
    return g.op("Mul", y, g.constant(math.prod(k for k in n if k) ** power, dtype.to_real()))


@_row
def fft_complex(
    g: Writer, x: Value, name: str, n: Any, dim: Any, norm: Any, is_forward: bool, is_one: bool
) -> str:
    dims, sizes = _transformed(g, x, n, dim, is_one)
    y = _pairs(g, x)
    for place, size in zip(dims, sizes, strict=True):
        y = _dft(g, y, place, size, not is_forward)
    lengths = [k if k is not None else x.shape[d] for k, d in zip(sizes, dims, strict=True)]
    return _scaled(g, y, lengths, norm, is_forward, x.dtype)


@_row
def fft_to_half(
    g: Writer, x: Value, name: str, n: Any, dim: Any, norm: Any, is_forward: bool, is_one: bool
) -> str:
    dims, sizes = _transformed(g, x, n, dim, is_one)
    y = g.op("Unsqueeze", x, g.constant([-1]))
    y = _dft(g, y, dims[-1], sizes[-1], False, is_half=True)
    for place, size in zip(dims[:-1], sizes[:-1], strict=True):
        y = _dft(g, y, place, size, False)
    lengths = [k if k is not None else x.shape[d] for k, d in zip(sizes, dims, strict=True)]
    if is_forward:
        return _scaled(g, y, lengths, norm, True, x.dtype)
    # The inverse of a real signal is the conjugate of its transform, scaled the other way.
    other = {"forward": "backward", "ortho": "ortho"}.get(norm or "backward", "forward")
    return _conjugate(g, _scaled(g, y, lengths, other, True, x.dtype), x.dtype)


@_row
def fft_from_half(
    g: Writer, x: Value, name: str, n: Any, dim: Any, norm: Any, is_forward: bool, is_one: bool
) -> str:
    dims, sizes = _transformed(g, x, n, dim, is_one)
    last, half = dims[-1], x.shape[dims[-1]]
    if half is None or is_forward:
        raise g.unsupported(f"{name} of a dynamic size" if half is None else f"fft.{name}")
    size = sizes[-1] if sizes[-1] is not None else 2 * (half - 1)
    if half != size // 2 + 1:
        raise g.unsupported(f"{name} that cuts its input or fills it up")
    y = _pairs(g, x)
    for place, length in zip(dims[:-1], sizes[:-1], strict=True):
        y = _dft(g, y, place, length, True)
    # The other half is the conjugate of this one, backwards.
    mirrored = list(range(size - half, 0, -1))
    if mirrored:
        rest = g.op("Gather", y, g.constant(mirrored), axis=last)
        y = g.op("Concat", y, _conjugate(g, rest, x.dtype), axis=last)
    y = _dft(g, y, last, None, True)
    lengths = [k if k is not None else x.shape[d] for k, d in zip(sizes, dims, strict=True)]
    return _scaled(g, _part(g, y, 0), [*lengths[:-1], size], norm, False, x.dtype)


@_row
def view_as_real(g: Writer, x: Value) -> str:
    return g.op("Identity", x)


COMPLEX_ROWS |= {"view_as_complex": view_as_real, "resolve_conj": view_as_real}


@_row
def real(g: Writer, x: Value) -> str:
    return _part(g, x, 0) if x.dtype.is_complex else g.op("Identity", x)


@_row
def imag(g: Writer, x: Value) -> str:
    return _part(g, x, 1)


@_row
def abs(g: Writer, x: Value) -> str:
    return g.op("ReduceL2", x, g.constant([-1]), keepdims=0)


@_row
def conj(g: Writer, x: Value) -> str:
    return _conjugate(g, x, x.dtype)


COMPLEX_ROWS["conj_physical"] = conj


@_row
def transpose(g: Writer, x: Value, dim0: int, dim1: int) -> str:
    order = list(range(x.rank + 1))
    first, second = wrap(dim0, x.rank), wrap(dim1, x.rank)
    order[first], order[second] = second, first
    return g.op("Transpose", x, perm=order)


@_row
def add(g: Writer, x: Value, y: Value) -> str:
    return g.op("Add", _pairs(g, x), _pairs(g, y))


@_row
def sub(g: Writer, x: Value, y: Value) -> str:
    return g.op("Sub", _pairs(g, x), _pairs(g, y))


@_row
def mul(g: Writer, x: Any, y: Any) -> str:
    if not isinstance(x, Value) or not x.dtype.is_complex:
        x, y = y, x
    if isinstance(y, (int, float)):
        return g.op("Mul", x, g.constant(float(y), x.dtype.to_real()))
    if not y.dtype.is_complex:
        return g.op("Mul", x, g.op("Unsqueeze", y, g.constant([-1])))
    a, b, c, d = _part(g, x, 0), _part(g, x, 1), _part(g, y, 0), _part(g, y, 1)
    first = g.op("Sub", g.op("Mul", a, c), g.op("Mul", b, d))
    return _joined(g, first, g.op("Add", g.op("Mul", a, d), g.op("Mul", b, c)))


COMPLEX_ROWS |= {
    "real.__get__": real,
    "imag.__get__": imag,
    "__add__": add,
    "__sub__": sub,
    "__mul__": mul,
    "__rmul__": mul,
}
