"""The standard's chapter of linear algebra functions, those outside of its extension."""

from __future__ import annotations

from collections.abc import Sequence

import facula
from facula import _core
from facula._core import Tensor
from facula.array_api._data_types import promoted

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Products of matrices and vectors.

    Args:
        x1: matrices in the last two dimensions, or a vector.
        x2: matrices or a vector; the dimensions before the last two broadcast with those of ``x1``.

    Example:
        >>> facula.array_api.matmul(facula.tensor([[1, 2], [3, 4]]), facula.tensor([1, 1]))
        tensor([3, 7])
    """
    return _core.matmul(*promoted((x1, x2)))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """A view with rows and columns exchanged.

    Args:
        x: the matrices, in the last two dimensions.

    Example:
        >>> facula.array_api.matrix_transpose(facula.ones(4, 2, 3)).shape
        torch.Size([4, 3, 2])
    """
    return x.mT


def tensordot(
    x1: Tensor,
    x2: Tensor,
    /,
    *,
    axes: int | tuple[Sequence[int], Sequence[int]] = 2,
) -> Tensor:
    """Sums of products over several dimensions.

    Args:
        x1: the first factor.
        x2: the second factor.
        axes: how many dimensions, the last ones of ``x1`` and the first ones of ``x2``; or a pair
            of lists, the dimensions of ``x1`` and those of ``x2``.

    Example:
        >>> facula.array_api.tensordot(facula.ones(2, 3), facula.ones(3, 4), axes=1).shape
        torch.Size([2, 4])
    """
    x1, x2 = promoted((x1, x2))
    return facula.tensordot(x1, x2, axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Scalar products of vectors; the first is conjugated.

    Args:
        x1: the vectors.
        x2: the other vectors; all dimensions but ``axis`` broadcast.
        axis: the dimension of the vectors, counted from the last: -1 or below.

    Example:
        >>> facula.array_api.vecdot(facula.tensor([1, 2]), facula.tensor([3, 4]))
        tensor(11)
    """
    x1, x2 = promoted((x1, x2))
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"vecdot: expected vectors of one size, got {tuple(x1.shape)} and "
            f"{tuple(x2.shape)} along {axis}."
        )
    x1, x2 = x1.movedim(axis, -1), x2.movedim(axis, -1)
    return _core.matmul(x1.conj().unsqueeze(-2), x2.unsqueeze(-1)).squeeze((-2, -1))
