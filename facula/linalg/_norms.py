"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._core import _linalg_vector_norm as vector_norm
from facula._ops._arguments import wrap_dim
from facula._ops._mark import operation
from facula._ops._out import into

__all__ = ["matrix_norm", "norm", "vector_norm"]

_ORDERS = (1, -1, 2, -2, math.inf, -math.inf)


@operation(module="facula.linalg")
def matrix_norm(
    input: Tensor,
    ord: float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of matrices.

    Args:
        input: the matrices.
        ord: ``"fro"`` for the root of the sum of squares, ``"nuc"`` for the sum of the singular
            values, 2 for the largest and -2 for the smallest of them, ``inf`` and ``-inf`` for the
            largest and smallest sum of the sizes in a row, 1 and -1 in a column.
        dim: the two dimensions of the matrices.
        keepdim: whether to keep the reduced dimensions with size 1.
        dtype: dtype to which the elements are converted first.
        out: where to put the result.

    Example:
        >>> facula.linalg.matrix_norm(facula.tensor([[1.0, -2.0], [3.0, 4.0]]), 1)
        tensor(6.)
    """
    name = "linalg.matrix_norm"
    x = _as_matrices(name, input, dtype)
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise RuntimeError(f"{name}: expected dim to be a pair of dimensions, got {dim!r}.")
    rows, columns = (wrap_dim(name, x, d) for d in dim)
    if rows == columns:
        raise RuntimeError(f"{name}: expected two different dimensions, got {tuple(dim)}.")
    if ord == "fro":
        return into(name, out, vector_norm(x, 2, (rows, columns), keepdim))
    if isinstance(ord, str) and ord != "nuc":
        raise RuntimeError(f"{name}: order {ord!r} is not supported: expected 'fro' or 'nuc'.")
    if isinstance(ord, str) or abs(ord) == 2:
        values = _core._linalg_svd(x.movedim((rows, columns), (-2, -1)), False, False)[1]
        result = values.sum(-1) if isinstance(ord, str) else _extreme(values, -1, ord)
        if keepdim:
            for d in sorted((rows, columns)):
                result = result.unsqueeze(d)
        return into(name, out, result)
    if ord not in _ORDERS:
        raise RuntimeError(f"{name}: order {ord} is not supported for matrices.")
    summed, compared = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(x, 1, summed, keepdim)
    if not keepdim and compared > summed:
        compared -= 1
    return into(name, out, _extreme(sums, compared, ord, keepdim))


def _extreme(x: Tensor, dim: int, ord: float, keepdim: bool = False) -> Tensor:
    return x.amax(dim, keepdim) if ord > 0 else x.amin(dim, keepdim)


def _as_matrices(name: str, x: Tensor, dtype: Any) -> Tensor:
    if x.dim() < 2:
        raise RuntimeError(
            f"{name}: expected matrices (at least 2 dimensions), got {tuple(x.shape)}."
        )
    if not x.is_floating_point() and not x.is_complex():
        raise RuntimeError(f"{name}: expected a floating-point or complex input, got {x.dtype}.")
    if dtype is None:
        return x
    is_number = dtype.is_floating_point or dtype.is_complex
    if not is_number or x.is_complex() > dtype.is_complex:
        raise RuntimeError(f"{name}: {x.dtype} cannot be converted to dtype={dtype} for a norm.")
    return x.to(dtype)


@operation(module="facula.linalg")
def norm(
    input: Tensor,
    ord: float | str | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """The norm of a vector or of matrices, by the number of dimensions.

    Args:
        input: the elements, floating point or complex.
        ord: the order: of vectors any number, of matrices as in ``matrix_norm``; None is the root
            of the sum of all squares.
        dim: one dimension for norms of vectors, two for norms of matrices; by default all.
        keepdim: whether to keep the reduced dimensions with size 1.
        out: where to put the result.
        dtype: dtype to which the elements are converted first.

    Example:
        >>> facula.linalg.norm(facula.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor(5.)
        >>> facula.linalg.norm(facula.tensor([[3.0, 0.0], [0.0, 4.0]]), 2)
        tensor(4.)
    """
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if dims is not None and ord is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: expected 1 or 2 dimensions with ord, got {dims}.")
    if dims is None and ord is not None and input.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: expected a vector or a matrix if ord is given and dim is not, got "
            f"{tuple(input.shape)}."
        )
    is_matrix = len(dims) == 2 if dims is not None else input.dim() == 2
    if isinstance(ord, str) or (ord is not None and is_matrix):
        return matrix_norm(input, ord, dims or (0, 1), keepdim, dtype=dtype, out=out)
    result = vector_norm(input, 2 if ord is None else ord, dims, keepdim, dtype=dtype)
    return into("linalg.norm", out, result)
