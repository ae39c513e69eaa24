"""Rows of a table by index, and indices as rows."""

from __future__ import annotations

from facula import _core
from facula._core import Tensor


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Class indices as vectors with a single one.

    Args:
        tensor: class indices, int64, each at least 0.
        num_classes: the length of the vectors; by default one more than the largest index.

    Shape:
        tensor ``(*)``; result ``(*, num_classes)``.

    Example:
        >>> facula.nn.functional.one_hot(facula.tensor([0, 2]))
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    return _core._one_hot(tensor, num_classes)
