"""Distances and similarities between vectors."""

from __future__ import annotations

from facula import _core
from facula._core import Tensor
from facula._ops.grids import triu_indices
from facula._ops.shapes import broadcast_tensors
from facula._ops.statistics import has_kernel, lengths

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors.

    Args:
        x1: vectors.
        x2: vectors, broadcast with ``x1``.
        dim: the dimension along which the vectors lie.
        eps: the least length that is divided by.

    Shape:
        x1 and x2 ``(*, D, *)``; result ``(*, *)``.

    Example:
        >>> facula.cosine_similarity(facula.tensor([[3.0, 4.0]]), facula.tensor([[4.0, 3.0]]))
        tensor([0.9600])
    """
    dtype = _core.result_type(x1, x2)
    if not dtype.is_floating_point:
        raise RuntimeError(f"cosine_similarity: expected floating-point vectors, got {dtype}.")
    x1, x2 = broadcast_tensors(x1.to(dtype), x2.to(dtype))
    length1 = x1.norm(2, dim, keepdim=True).clamp_min(eps)
    length2 = x2.norm(2, dim, keepdim=True).clamp_min(eps)
    return ((x1 / length1) * (x2 / length2)).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension.

    Args:
        x1: vectors.
        x2: vectors, broadcast with ``x1``.
        p: order of the norm.
        eps: added to the differences, so that the norm of none is 0.
        keepdim: whether the last dimension stays, of size 1.

    Shape:
        x1 and x2 ``(N, D)`` or ``(D,)``; result ``(N,)`` or ``()``.

    Example:
        >>> facula.pairwise_distance(facula.tensor([[3.0, 4.0]]), facula.zeros(1, 2))
        tensor([5.0000])
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distances between all pairs of rows, each pair once.

    Args:
        input: rows, floating point.
        p: order of the norm, from 0 to infinity.

    Shape:
        input ``(N, M)``; result ``(N * (N - 1) / 2,)``: the rows of the upper triangle of
        ``cdist(input, input)``, behind each other.

    Example:
        >>> facula.pdist(facula.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
        tensor([5.0000, 1.0000, 4.2426])
    """
    if input.dim() != 2:
        raise RuntimeError(f"pdist: expected a matrix of rows, got {tuple(input.shape)}.")
    if not input.is_floating_point():
        raise RuntimeError(f"pdist: expected a floating-point input, got {input.dtype}.")
    if p < 0:
        raise RuntimeError(f"pdist: expected p >= 0, got {p}.")
    if has_kernel(input):
        return _core._pair_distances(input, p)
    first, second = triu_indices(input.size(0), input.size(0), 1, device=input.device)
    return lengths(input[first] - input[second], p)
