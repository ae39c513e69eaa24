"""Norms by their names before ``linalg.norm``."""

from __future__ import annotations

from typing import Any

from facula._core import Tensor
from facula._ops._mark import operation


@operation
def frobenius_norm(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The square root of the sum of squares; ``linalg.matrix_norm`` has all norms.

    Args:
        input: matrices.
        dim: the dimensions that are summed, by default all.
        keepdim: whether the result has these dimensions, of size 1.

    Example:
        >>> facula.frobenius_norm(facula.ones(2, 2), (0, 1))
        tensor(2.)
    """
    from facula.linalg import vector_norm

    dims = [dim] if isinstance(dim, int) else list(dim)
    return vector_norm(input, 2, dims or None, keepdim)


@operation
def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values; ``linalg.matrix_norm`` has all norms.

    Args:
        input: matrices.
        dim: the two dimensions of a matrix; a bool in its place is ``keepdim``.
        keepdim: whether the result has these dimensions, of size 1.

    Example:
        >>> facula.nuclear_norm(facula.eye(3))
        tensor(3.)
    """
    from facula.linalg import matrix_norm

    if isinstance(dim, bool):
        dim, keepdim = (-2, -1), dim
    return matrix_norm(input, "nuc", tuple(dim), keepdim)
