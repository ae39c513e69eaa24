"""The discrete Fourier transforms of which all others are composed, with their derivatives.

There are three: of complex numbers, from real numbers to the half of the result that is not
redundant, and back. Each is linear, so that its derivative is its adjoint: the transform in the
other direction with the same factor. NumPy's pocketfft computes them.

A factor is called by ``norm`` as NumPy calls it for the forward direction, also in the other one:
``"backward"`` is 1, ``"ortho"`` 1 / sqrt(n), ``"forward"`` 1 / n.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula.autograd.function import Function

OTHER_NORM = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
# With fewer elements a second thread is not worth its start.
_MIN_NUMEL_FOR_THREADS = 1 << 16


def c2c(x: Tensor, dims: Sequence[int], norm: str, is_forward: bool) -> Tensor:
    """The transform of complex numbers along some dimensions."""
    result: Tensor = _FftC2C.apply(x, tuple(dims), norm, is_forward)
    return result


def r2c(x: Tensor, dims: Sequence[int], norm: str) -> Tensor:
    """The forward transform of real numbers, in the last of ``dims`` its first half only."""
    result: Tensor = _FftR2C.apply(x, tuple(dims), norm)
    return result


def c2r(x: Tensor, dims: Sequence[int], norm: str, n: int) -> Tensor:
    """The inverse of ``r2c``, to ``n`` real numbers in the last of ``dims``."""
    result: Tensor = _FftC2R.apply(x, tuple(dims), norm, n)
    return result


def r2c_full(x: Tensor, dim: int, norm: str) -> Tensor:
    """The forward transform of real numbers along a dimension, also its redundant half."""
    result: Tensor = _FftFullR2C.apply(x, dim, norm)
    return result


class _Transform(Function):
    """Along dimensions that its second argument names."""

    @classmethod
    def vmap(cls, info: Any, in_dims: Any, x: Tensor, dims: Any, *rest: Any) -> Any:
        """The transform of all examples, which are one dimension more."""
        after = dims + 1 if isinstance(dims, int) else tuple(dim + 1 for dim in dims)
        return cls.apply(x.movedim(in_dims[0], 0), after, *rest), 0


class _FftC2C(_Transform):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...], norm: str, is_forward: bool) -> Tensor:
        ctx.arguments = dims, norm, is_forward
        if not dims:
            return x.clone()
        ordered, order = _gathered(x, _by_stride(x, dims))
        result = _core.empty(ordered.shape, dtype=x.dtype)
        first = x.dim() - len(dims)
        _transform("fft" if is_forward else "ifft", ordered, first, norm, result)
        for axis in range(first + 1, x.dim()):
            _transform("fft" if is_forward else "ifft", result, axis, norm, result)
        return _permuted_back(result, order)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        dims, norm, is_forward = ctx.arguments
        return c2c(g, dims, norm, not is_forward), None, None, None


class _FftR2C(_Transform):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...], norm: str) -> Tensor:
        n = x.size(dims[-1])
        ctx.arguments = dims, norm, n
        ordered, order = _gathered(x, [*_by_stride(x, dims[:-1]), dims[-1]])
        shape = [*ordered.shape[:-1], n // 2 + 1]
        result = _core.empty(shape, dtype=x.dtype.to_complex())
        _transform("rfft", ordered, x.dim() - 1, norm, result)
        for axis in range(x.dim() - len(dims), x.dim() - 1):
            _transform("fft", result, axis, norm, result)
        return _permuted_back(result, order)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        dims, norm, n = ctx.arguments
        # c2r counts all but the ends twice, for the half that was left out.
        return c2r(g * _counts(g, dims[-1], n, 0.5), dims, norm, n), None, None


class _FftC2R(_Transform):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...], norm: str, n: int) -> Tensor:
        ctx.arguments = dims, norm, n
        ordered, order = _gathered(x, [*_by_stride(x, dims[:-1]), dims[-1]])
        if len(dims) > 1 and ordered.data_ptr() == x.data_ptr():
            ordered = ordered.clone()
        for axis in range(x.dim() - len(dims), x.dim() - 1):
            _transform("ifft", ordered, axis, norm, ordered)
        result = _core.empty([*ordered.shape[:-1], n], dtype=x.dtype.to_real())
        _transform("irfft", ordered, x.dim() - 1, norm, result)
        return _permuted_back(result, order)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        dims, norm, n = ctx.arguments
        half = r2c(g, dims, norm)
        return half * _counts(half, dims[-1], n, 2.0), None, None, None


class _FftFullR2C(_Transform):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, norm: str) -> Tensor:
        ctx.arguments = dim, norm
        ordered, order = _gathered(x, [dim])
        result = _core.empty(ordered.shape, dtype=x.dtype.to_complex())
        _transform("fft", ordered, x.dim() - 1, norm, result)
        return _permuted_back(result, order)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        dim, norm = ctx.arguments
        return c2c(g, (dim,), norm, is_forward=False).real, None, None


# The names of PyTorch's nodes.
_FftC2C._ctx_type.__name__ = "FftC2CBackward0"
_FftR2C._ctx_type.__name__ = _FftFullR2C._ctx_type.__name__ = "FftR2CBackward0"
_FftC2R._ctx_type.__name__ = "FftC2RBackward0"


def _counts(half: Tensor, dim: int, n: int, inside: float) -> Tensor:
    """1 for what has no twin in the other half: the first, and of an even ``n`` the last."""
    counts = _core.full((half.size(dim),), inside, dtype=half.dtype.to_real())
    counts[0] = 1
    if n % 2 == 0:
        counts[-1] = 1
    return counts.view([-1 if d == dim else 1 for d in range(half.dim())])


def _by_stride(x: Tensor, dims: Sequence[int]) -> list[int]:
    return sorted(dims, key=lambda d: -x.stride(d))


def _gathered(x: Tensor, dims: list[int]) -> tuple[Tensor, list[int]]:
    """``x`` with ``dims`` last and in one piece of memory, and the order of its dimensions."""
    order = [*_by_stride(x, [d for d in range(x.dim()) if d not in dims]), *dims]
    return x.detach().permute(order).contiguous(), order


def _permuted_back(x: Tensor, order: list[int]) -> Tensor:
    return x.permute([order.index(d) for d in range(len(order))])


def _transform(name: str, x: Tensor, axis: int, norm: str, result: Tensor) -> None:
    """NumPy's transform of that name, from ``x`` into ``result``, which may be ``x``.

    The lines along the axis are independent of each other, and shared out to threads.
    """
    import numpy as np

    if name.startswith("i"):
        norm = OTHER_NORM[norm]
    function = getattr(np.fft, name)
    n = result.size(axis) if name == "irfft" else x.size(axis)
    source, target = x.numpy(), result.numpy()
    takes_out = int(np.__version__.partition(".")[0]) >= 2

    def run(part: tuple[slice, ...]) -> None:
        if takes_out:
            function(source[part], n, axis, norm, target[part])
        else:  # before NumPy 2, which computes in single precision too
            target[part] = function(source[part], n, axis, norm)

    if result.numel():
        _shared_out(run, target.shape, axis)


def _shared_out(run: Callable[[tuple[slice, ...]], None], shape: Sequence[int], axis: int) -> None:
    """Calls ``run`` with parts of the shape that are whole along the axis, one for each thread."""
    others = [d for d in range(len(shape)) if d != axis]
    longest = max(others, key=lambda d: shape[d], default=axis)
    numel = 1
    for size in shape:
        numel *= size
    n_parts = min(_core.get_num_threads(), shape[longest] if longest != axis else 1)
    if n_parts < 2 or numel < _MIN_NUMEL_FOR_THREADS:
        run(())
        return
    from concurrent.futures import ThreadPoolExecutor

    ends = [shape[longest] * i // n_parts for i in range(n_parts + 1)]
    parts = [
        (*(slice(None),) * longest, slice(start, end)) for start, end in itertools.pairwise(ends)
    ]
    # Threads of this call alone: NumPy gives up the lock of the interpreter while it computes, and
    # threads that waited for the next call would be missing after a fork.
    with ThreadPoolExecutor(n_parts - 1) as pool:
        futures = [pool.submit(run, part) for part in parts[1:]]
        run(parts[0])
        for future in futures:
            future.result()
