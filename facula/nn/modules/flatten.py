"""Dimensions joined and split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula._core import Tensor
from facula.nn.modules.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Joins the dimensions from ``start_dim`` to ``end_dim``.

    Args:
        start_dim: the first dimension to merge.
        end_dim: the last dimension to merge.

    Shape:
        input ``(N, A, B)``; result ``(N, A·B)`` by default.

    Example:
        >>> facula.nn.Flatten()(facula.ones(32, 5, 5)).shape
        torch.Size([32, 25])
    """

    __constants__ = ("start_dim", "end_dim")

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits the dimension ``dim`` into dimensions of ``unflattened_size``.

    Args:
        dim: the dimension that is divided into several.
        unflattened_size: the sizes of the new dimensions; one may be -1, which stands for what is
            left.

    Shape:
        input ``(N, A·B)``; result ``(N, A, B)``.

    Example:
        >>> facula.nn.Unflatten(1, (2, 5))(facula.ones(3, 10)).shape
        torch.Size([3, 2, 5])
    """

    __constants__ = ("dim", "unflattened_size")

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                "Unflatten: expected unflattened_size as a tuple of sizes, got "
                f"{type(unflattened_size).__name__}."
            )
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    f"Unflatten: expected an int for each size, got {type(size).__name__} at index "
                    f"{i}."
                )
        self.dim = dim
        self.unflattened_size: Any = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
