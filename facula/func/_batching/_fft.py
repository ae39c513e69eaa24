"""Fourier transforms: the examples are one dimension more, which is not transformed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula._core import Tensor
from facula.func._batching._batch import Batch, loop_quietly, rule


@rule("_fft_complex", "_fft_to_half", "_fft_from_half")
def transform(
    batch: Batch, func: Callable[..., Tensor], x: Tensor, op: str, s: Any, dim: Any, *rest: Any
) -> Tensor:
    n_dims = int(x.dim())
    if dim is None:
        # By default the last len(s), or all.
        n_last = n_dims if s is None else 1 if isinstance(s, int) else len(s)
        dim = range(n_dims - n_last, n_dims)
    dims = [dim] if isinstance(dim, int) else dim
    if any(not -n_dims <= d < n_dims for d in dims):
        func(x.new_zeros(x.shape), op, s, dim, *rest)  # for the error of one example
    return batch.wrap(func(batch.lower(x), op, s, [d % n_dims + 1 for d in dims], *rest))


@rule("istft")
def inverse_of_pieces(
    batch: Batch, func: Callable[..., Tensor], x: Tensor, *args: Any, **kwargs: Any
) -> Tensor:
    # Of the window, which may have an example of its own, the values are looked at.
    if batch.has_any((*args, *kwargs.values())) or x.dim() not in (2, 3):
        signal: Tensor = loop_quietly(batch, func, x, *args, **kwargs)
        return signal
    spectra = batch.lower(x)
    signals = func(spectra.flatten(0, -3), *args, **kwargs)
    return batch.wrap(signals.unflatten(0, tuple(spectra.shape[:-2])))
