"""Distances and similarities between vectors."""

from __future__ import annotations

from facula._core import Tensor
from facula.nn import functional as F
from facula.nn.modules.module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension.

    Args:
        p: the order of the norm.
        eps: a small number that is added to the differences.
        keepdim: whether the last dimension stays, of size 1.

    Shape:
        x1 and x2 ``(N, D)`` or ``(D,)``; result ``(N,)`` or ``()``.

    Example:
        >>> from facula import nn
        >>> nn.PairwiseDistance()(facula.tensor([[3.0, 4.0]]), facula.zeros(1, 2))
        tensor([5.0000])
    """

    __constants__ = ("norm", "eps", "keepdim")

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors.

    Args:
        dim: the dimension along which the vectors lie.
        eps: the smallest length that is divided by.

    Shape:
        x1 and x2 ``(*, D, *)``; result ``(*, *)``.

    Example:
        >>> from facula import nn
        >>> nn.CosineSimilarity()(facula.tensor([[3.0, 4.0]]), facula.tensor([[4.0, 3.0]]))
        tensor([0.9600])
    """

    __constants__ = ("dim", "eps")

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
