"""Adaptive pooling: a given number of windows that cover the input evenly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
]

_Ints = int | Sequence[int]
_OptionalInts = int | None | Sequence[int | None]  # None stands for the input's size

adaptive_avg_pool1d = _core.adaptive_avg_pool1d


def _sizes_of(output_size: _OptionalInts, input: Tensor, n: int) -> list[int]:
    """One size for each pooled dimension; None stands for the input's."""
    if output_size is None or isinstance(output_size, int):
        return [output_size] * n if output_size is not None else list(input.shape[-n:])
    given = list(output_size)
    if len(given) != n or n >= input.dim():
        error = ValueError if len(given) >= input.dim() else RuntimeError
        raise error(
            f"adaptive pooling: expected an output_size of {n} numbers for an input "
            f"{tuple(input.shape)}, got {tuple(given)}."
        )
    return [input.shape[i - n] if size is None else size for i, size in enumerate(given)]


def adaptive_max_pool1d(input: Tensor, output_size: _Ints, return_indices: bool = False) -> Any:
    """The largest elements of windows that cover the last dimension evenly.

    Args:
        input: a tensor of floating-point dtype.
        output_size: the number of windows.
        return_indices: whether the places of the largest elements are returned, too.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``; result ``(N, C, output_size)`` or ``(C, output_size)``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.adaptive_max_pool1d(facula.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        tensor([[3., 2.]])
    """
    values, indices = _core._adaptive_max_pool1d(input, output_size, bool(return_indices))
    return (values, indices) if return_indices else values


def adaptive_max_pool2d(
    input: Tensor, output_size: _OptionalInts, return_indices: bool = False
) -> Any:
    """The largest elements of windows that cover the last two dimensions evenly.

    Args:
        input: a tensor of floating-point dtype.
        output_size: the number of windows, for all dimensions or for each; None stands for the
            input's size.
        return_indices: whether the places of the largest elements are returned, too.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``; the result has output_size in place of H and W.

    Example:
        >>> import facula.nn.functional as F
        >>> F.adaptive_max_pool2d(facula.arange(16.0).reshape(1, 4, 4), (2, None))
        tensor([[[ 4.,  5.,  6.,  7.],
                 [12., 13., 14., 15.]]])
    """
    sizes = _sizes_of(output_size, input, 2)
    values, indices = _core._adaptive_max_pool2d(input, sizes, bool(return_indices))
    return (values, indices) if return_indices else values


def adaptive_max_pool3d(
    input: Tensor, output_size: _OptionalInts, return_indices: bool = False
) -> Any:
    """The largest elements of windows that cover the last three dimensions evenly.

    The arguments are those of :func:`adaptive_max_pool2d`.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.adaptive_max_pool3d(facula.arange(8.0).reshape(1, 2, 2, 2), (1, 1, 2))
        tensor([[[[6., 7.]]]])
    """
    sizes = _sizes_of(output_size, input, 3)
    values, indices = _core._adaptive_max_pool3d(input, sizes, bool(return_indices))
    return (values, indices) if return_indices else values


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: _Ints, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """:func:`adaptive_max_pool1d`, always with indices.

    Example:
        >>> import facula.nn.functional as F
        >>> F.adaptive_max_pool1d_with_indices(facula.tensor([[1.0, 3.0]]), 1)
        (tensor([[3.]]), tensor([[1]]))
    """
    return _core._adaptive_max_pool1d(input, output_size, True)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: _OptionalInts, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """:func:`adaptive_max_pool2d`, always with indices.

    Example:
        >>> import facula.nn.functional as F
        >>> F.adaptive_max_pool2d_with_indices(facula.arange(4.0).reshape(1, 2, 2), 1)
        (tensor([[[3.]]]), tensor([[[3]]]))
    """
    return _core._adaptive_max_pool2d(input, _sizes_of(output_size, input, 2), True)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: _OptionalInts, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """:func:`adaptive_max_pool3d`, always with indices.

    Example:
        >>> import facula.nn.functional as F
        >>> F.adaptive_max_pool3d_with_indices(facula.arange(8.0).reshape(1, 2, 2, 2), 1)
        (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
    return _core._adaptive_max_pool3d(input, _sizes_of(output_size, input, 3), True)


def adaptive_avg_pool2d(input: Tensor, output_size: _OptionalInts) -> Tensor:
    """Averages of windows that cover the last two dimensions evenly.

    Args:
        input: a tensor of floating-point dtype.
        output_size: the number of windows, for all dimensions or for each; None stands for the
            input's size.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``; the result has output_size in place of H and W.

    Example:
        >>> import facula.nn.functional as F
        >>> F.adaptive_avg_pool2d(facula.arange(16.0).reshape(1, 4, 4), 1)
        tensor([[[7.5000]]])
    """
    return _core._adaptive_avg_pool(input, 2, _sizes_of(output_size, input, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: _OptionalInts) -> Tensor:
    """Averages of windows that cover the last three dimensions evenly.

    The arguments are those of :func:`adaptive_avg_pool2d`.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.adaptive_avg_pool3d(facula.arange(8.0).reshape(1, 2, 2, 2), 1)
        tensor([[[[3.5000]]]])
    """
    return _core._adaptive_avg_pool(input, 3, _sizes_of(output_size, input, 3))
