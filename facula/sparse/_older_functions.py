"""Products of sparse matrices, and copies of their parts, by names of the top level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._mark import operation


def _copy_of(name: str) -> Callable[[Tensor], Tensor]:
    def copy(input: Tensor) -> Tensor:
        part: Tensor = getattr(input, name)()
        return part.clone()

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    how = "to_sparse()" if name == "indices" else "to_sparse_csr()"
    if name in ("ccol_indices", "row_indices"):
        how = "to_sparse_csc()"
    made = "facula.eye(2)." + (f"{how}.coalesce()" if name in ("indices", "values") else how)
    if name == "values":
        made = "facula.eye(2).to_sparse()"
    copy.__doc__ = f"""A copy of what ``Tensor.{name}`` gives.

    Args:
        input: a sparse tensor.

    Example:
        >>> facula.{name}_copy({made}).shape == {made}.{name}().shape
        True
    """
    return operation(copy)


ccol_indices_copy = _copy_of("ccol_indices")
col_indices_copy = _copy_of("col_indices")
crow_indices_copy = _copy_of("crow_indices")
indices_copy = _copy_of("indices")
row_indices_copy = _copy_of("row_indices")
values_copy = _copy_of("values")


@operation
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """A product of matrices, the first of which may be sparse: another name of ``mm``.

    Args:
        input: the first matrix.
        mat2: the second.

    Example:
        >>> facula.spmm(facula.eye(2).to_sparse(), facula.ones(2, 1))
        tensor([[1.],
                [1.]])
    """
    return _core.mm(input, mat2)


dsmm = spmm


@operation
def sspaddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` as a sparse matrix.

    Args:
        input: a sparse matrix.
        mat1: a sparse matrix.
        mat2: a dense matrix.
        beta: the factor of ``input``.
        alpha: the factor of the product.
        out: must be None.

    Example:
        >>> eye = facula.eye(2).to_sparse()
        >>> facula.sspaddmm(eye, eye, facula.ones(2, 2)).to_dense()
        tensor([[2., 1.],
                [1., 2.]])
    """
    if out is not None:
        raise RuntimeError("sspaddmm: a sparse out= is not possible.")
    if not input.is_sparse or not mat1.is_sparse:
        raise RuntimeError("sspaddmm: expected sparse matrices as input and mat1.")
    total: Tensor = input.to_dense() * beta + (mat1 @ mat2) * alpha
    return total.to_sparse()


@operation
def saddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``, with a sparse ``mat1``.

    Args:
        input: a matrix.
        mat1: a sparse matrix.
        mat2: a dense matrix.
        beta: the factor of ``input``.
        alpha: the factor of the product.

    Example:
        >>> facula.saddmm(facula.ones(2, 2), facula.eye(2).to_sparse(), facula.ones(2, 2))
        tensor([[2., 2.],
                [2., 2.]])
    """
    total: Tensor = input * beta + (mat1 @ mat2) * alpha
    return total


def _convert_indices_from_coo_to_csr(
    input: Tensor, size: int, *, out_int32: bool = False
) -> Tensor:
    """Where each of ``size`` rows begins in ``input``, the sorted rows of elements."""
    dtype = _core.int32 if out_int32 else _core.int64
    rows = _core.arange(size + 1, dtype=input.dtype, device=input.device)
    return _core.searchsorted(input.contiguous(), rows).to(dtype)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Row and column of each element, in two rows; ``transpose`` exchanges them."""
    dtype = _core.int32 if out_int32 else _core.int64
    counts = crow_indices.diff()
    rows = _core.arange(len(counts), device=counts.device).repeat_interleave(counts)
    pair = (col_indices, rows) if transpose else (rows, col_indices)
    return _core.stack([part.to(dtype) for part in pair])
