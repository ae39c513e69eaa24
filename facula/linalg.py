"""Products and norms of vectors."""

from __future__ import annotations

from facula import _ops
from facula._core import Tensor
from facula._core import _linalg_vector_norm as vector_norm
from facula._ops._mark import operation

__all__ = ["cross", "vector_norm"]


@operation(module=__name__)
def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Cross product of vectors of three elements along ``dim``.

    Example:
        >>> x, y = facula.tensor([1.0, 0.0, 0.0]), facula.tensor([0.0, 1.0, 0.0])
        >>> facula.linalg.cross(x, y)
        tensor([0., 0., 1.])
    """
    return _ops.cross(input, other, dim, out=out)
