"""The standard's extension of linear algebra: ``facula.linalg`` with its signatures."""

from __future__ import annotations

from typing import Any, Literal

import facula
from facula._core import Tensor
from facula.array_api._data_types import DType, promoted
from facula.array_api._products import matmul, matrix_transpose, tensordot, vecdot
from facula.array_api._reductions import Axis, axes_of, sum

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Triangular factors L of positive definite matrices L @ L.mH.

    Args:
        x: the matrices, in the last two dimensions.
        upper: whether to return L.mH.

    Example:
        >>> facula.array_api.linalg.cholesky(facula.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    return facula.linalg.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Cross products of vectors of three elements.

    Args:
        x1: the vectors.
        x2: the other vectors; all dimensions but ``axis`` broadcast.
        axis: the dimension of the vectors, counted from the last: -1 or below.

    Example:
        >>> x, y = facula.tensor([1.0, 0.0, 0.0]), facula.tensor([0.0, 1.0, 0.0])
        >>> facula.array_api.linalg.cross(x, y)
        tensor([0., 0., 1.])
    """
    if not x1.shape[axis] == x2.shape[axis] == 3:
        raise ValueError(
            f"cross: expected three elements along {axis}, got {tuple(x1.shape)} and "
            f"{tuple(x2.shape)}."
        )
    return facula.linalg.cross(*facula.broadcast_tensors(*promoted((x1, x2))), dim=axis)


def det(x: Tensor, /) -> Tensor:
    """Determinants of square matrices.

    Args:
        x: the matrices, in the last two dimensions.

    Example:
        >>> facula.array_api.linalg.det(facula.tensor([[2.0, 0.0], [0.0, 3.0]]))
        tensor(6.)
    """
    return facula.linalg.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """A view of the matrices' diagonals.

    Args:
        x: the matrices, in the last two dimensions.
        offset: which diagonal: 0 is the main one, larger numbers are above it, smaller ones below.

    Example:
        >>> facula.array_api.linalg.diagonal(facula.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    return facula.diagonal(x, offset, -2, -1)


def eigh(x: Tensor, /) -> Any:
    """Eigenvalues, in ascending order, and eigenvectors of Hermitian matrices.

    Args:
        x: the matrices, in the last two dimensions; the lower halves are read.

    Example:
        >>> facula.array_api.linalg.eigh(facula.tensor([[3.0, 0.0], [0.0, 2.0]])).eigenvalues
        tensor([2., 3.])
    """
    return facula.linalg.eigh(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues of Hermitian matrices, in ascending order.

    Args:
        x: the matrices, in the last two dimensions; the lower halves are read.

    Example:
        >>> facula.array_api.linalg.eigvalsh(facula.tensor([[3.0, 0.0], [0.0, 2.0]]))
        tensor([2., 3.])
    """
    return facula.linalg.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """Inverses of square matrices.

    Args:
        x: the matrices, in the last two dimensions.

    Example:
        >>> facula.array_api.linalg.inv(facula.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return facula.linalg.inv(x)


def matrix_norm(
    x: Tensor, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> Tensor:
    """Norms of matrices.

    Args:
        x: the matrices, in the last two dimensions.
        keepdims: whether these stay, with size 1.
        ord: ``"fro"`` (Frobenius) or ``"nuc"`` (the sum of singular values); 1, -1 (the largest
            and smallest sum of a column), inf, -inf (of a row), 2, -2 (singular value).

    Example:
        >>> facula.array_api.linalg.matrix_norm(facula.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor(5.)
    """
    return facula.linalg.matrix_norm(x, "fro" if ord is None else ord, (-2, -1), keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Products of square matrices with themselves.

    Args:
        x: the matrices, in the last two dimensions.
        n: the number of factors; of inverses if it is negative.

    Example:
        >>> facula.array_api.linalg.matrix_power(facula.tensor([[2.0, 0.0], [0.0, 3.0]]), 2)
        tensor([[4., 0.],
                [0., 9.]])
    """
    return facula.linalg.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values of each matrix are more than rounding errors.

    Args:
        x: the matrices, in the last two dimensions.
        rtol: the limit as a part of the largest singular value; the dtype's eps times the larger
            size if left out.

    Example:
        >>> facula.array_api.linalg.matrix_rank(facula.tensor([[1.0, 2.0], [2.0, 4.0]]))
        tensor(1)
    """
    return facula.linalg.matrix_rank(x, rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """All products of an element of one vector with an element of another.

    Args:
        x1: the vector along the rows.
        x2: the vector along the columns.

    Example:
        >>> facula.array_api.linalg.outer(facula.tensor([1, 2]), facula.tensor([3, 4]))
        tensor([[3, 4],
                [6, 8]])
    """
    return facula.outer(*promoted((x1, x2)))


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Pseudo-inverses of matrices.

    Args:
        x: the matrices, in the last two dimensions.
        rtol: below which part of the largest singular value others count as zero; the dtype's eps
            times the larger size if left out.

    Example:
        >>> facula.array_api.linalg.pinv(facula.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return facula.linalg.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> Any:
    """Factors Q, of orthonormal columns, and R, upper triangular, of matrices.

    Args:
        x: the matrices, in the last two dimensions.
        mode: ``"complete"`` if Q is to be square.

    Example:
        >>> x = facula.tensor([[3.0, 1.0], [4.0, 2.0]])
        >>> factors = facula.array_api.linalg.qr(x)
        >>> facula.allclose(factors.Q @ factors.R, x)
        True
    """
    return facula.linalg.qr(x, mode)


def slogdet(x: Tensor, /) -> Any:
    """Signs and logarithms of absolute values of the determinants of square matrices.

    Args:
        x: the matrices, in the last two dimensions.

    Example:
        >>> facula.array_api.linalg.slogdet(facula.tensor([[-1.0, 0.0], [0.0, 1.0]])).sign
        tensor(-1.)
    """
    return facula.linalg.slogdet(x)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solutions y of x1 @ y = x2.

    Args:
        x1: square matrices, in the last two dimensions.
        x2: one vector, or matrices whose columns are the right sides.

    Example:
        >>> A = facula.tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> facula.array_api.linalg.solve(A, facula.tensor([2.0, 2.0]))
        tensor([1.0000, 0.5000])
    """
    x1, x2 = promoted((x1, x2))
    if x2.ndim == 1:
        return facula.linalg.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    # With fewer dimensions than x1, PyTorch might take the matrix for a batch of vectors.
    return facula.linalg.solve(x1, x2.reshape((1,) * (x1.ndim - x2.ndim) + x2.shape))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> Any:
    """Factors U, S (a vector) and Vh of matrices U @ diag(S) @ Vh.

    Args:
        x: the matrices, in the last two dimensions.
        full_matrices: whether U and Vh are square.

    Example:
        >>> facula.array_api.linalg.svd(facula.tensor([[3.0, 0.0], [0.0, 2.0]])).S
        tensor([3., 2.])
    """
    return facula.linalg.svd(x, full_matrices)


def svdvals(x: Tensor, /) -> Tensor:
    """Singular values of matrices, in descending order.

    Args:
        x: the matrices, in the last two dimensions.

    Example:
        >>> facula.array_api.linalg.svdvals(facula.tensor([[2.0, 0.0], [0.0, 3.0]]))
        tensor([3., 2.])
    """
    return facula.linalg.svdvals(x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """Sums of the matrices' diagonals.

    Args:
        x: the matrices, in the last two dimensions.
        offset: which diagonal: 0 is the main one, larger numbers are above it, smaller ones below.
        dtype: the dtype of the result; that of ``sum`` if left out.

    Example:
        >>> facula.array_api.linalg.trace(facula.tensor([[1, 2], [3, 4]]))
        tensor(5)
    """
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Tensor, /, *, axis: Axis = None, keepdims: bool = False, ord: int | float = 2
) -> Tensor:
    """Norms of vectors.

    Args:
        x: the tensor.
        axis: the dimension or dimensions of the vectors; all if left out.
        keepdims: whether these stay, with size 1.
        ord: 2 for the length, 1 for the sum of absolute values, inf for the largest; others alike.

    Example:
        >>> facula.array_api.linalg.vector_norm(facula.tensor([3.0, 4.0]))
        tensor(5.)
    """
    dims = axes_of(x, axis)
    if not dims:
        return facula.linalg.vector_norm(x.unsqueeze(-1), ord, -1)
    return facula.linalg.vector_norm(x, ord, dims, keepdims)
