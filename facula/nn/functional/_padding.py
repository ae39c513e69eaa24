"""Borders around a tensor."""

from __future__ import annotations

from collections.abc import Sequence

from facula import _core
from facula._core import Tensor

__all__ = ["pad"]


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Put a border around a tensor.

    Args:
        input: the tensor to put a border around.
        pad: how many elements to add before and after each dimension, the last dimension first;
            negative numbers crop.
        mode: what the border holds: ``"constant"``: a value; ``"reflect"``: the elements next to
            the edge in reverse, without the edge itself; ``"replicate"``: the edge; ``"circular"``:
            the elements from the other end.
        value: what the border is filled with in mode ``"constant"``; 0 by default.

    Shape:
        Mode ``"constant"`` takes any number of dimensions. The others pad the last one, two or
        three, after a dimension of channels and, optionally, one of batches.

    Example:
        >>> import facula.nn.functional as F
        >>> F.pad(facula.tensor([[1, 2, 3]]), (2, 1), mode="reflect")
        tensor([[3, 2, 1, 2, 3, 2]])
        >>> F.pad(facula.tensor([1, 2]), (1, 2), value=7)
        tensor([7, 1, 2, 7, 7])
    """
    return _core._pad(input, pad, mode, value)
