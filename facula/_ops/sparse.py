"""Sparse tensors: how they are made, their parts, and conversions. See :mod:`facula.sparse`.

What is here takes dense tensors, and imports the rest when it is first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._mark import operation


@operation
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor of layout ``sparse_coo``: a list of indices, and a value for each.

    Values of equal indices are added up, at the latest by ``coalesce()``.

    Args:
        indices: a column for each value, with its index in every sparse dimension.
        values: the values; their dimensions behind the first are the dense ones of the result.
        size: the shape of the result; by default the smallest that has all indices.
        dtype: the dtype of the result; by default that of the values.
        device: where the result is made; by default where the values are.
        pin_memory: has no effect.
        requires_grad: whether operations on the result are recorded.
        check_invariants: whether indices are compared with the size; by default as
            :class:`facula.sparse.check_sparse_tensor_invariants` says.
        is_coalesced: whether the indices are known to be sorted, each once.

    Shape:
        indices ``(S, N)``, values ``(N, *)``; the result has S dimensions and those of ``*``.

    Example:
        >>> facula.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
        tensor(indices=tensor([[0, 1, 1],
                               [2, 0, 2]]),
               values=tensor([3., 4., 5.]),
               size=(2, 3), nnz=3, layout=torch.sparse_coo)
    """
    import facula.sparse._construct as _construct

    if indices is None and size is None:
        raise TypeError("sparse_coo_tensor: expected indices and values, or a size.")
    return _construct.coo(
        indices, values, size, dtype, device, requires_grad, check_invariants, is_coalesced
    )


@operation
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix whose rows, or columns, are lists one after the other.

    Args:
        compressed_indices: where the list of each row or column begins, and the last one ends.
        plain_indices: the column or row of each value.
        values: the values, in the order of the lists.
        size: the shape of the result; by default the smallest that has all indices.
        dtype: the dtype of the result; by default that of the values.
        layout: ``sparse_csr`` or ``sparse_bsr``, with a list for each row (of blocks), or
            ``sparse_csc`` or ``sparse_bsc``, for each column.
        device: where the result is made; by default where the values are.
        pin_memory: has no effect.
        requires_grad: whether operations on the result are recorded.
        check_invariants: whether the indices are checked; by default as
            :class:`facula.sparse.check_sparse_tensor_invariants` says.

    Example:
        >>> x = facula.sparse_compressed_tensor(
        ...     [0, 1, 2], [1, 0], [3.0, 4.0], (2, 2), layout=facula.sparse_csc
        ... )
        >>> x.to_dense()
        tensor([[0., 4.],
                [3., 0.]])
    """
    import facula.sparse._construct as _construct

    if layout is None:
        raise RuntimeError(
            "sparse_compressed_tensor: expected a sparse compressed tensor layout, sparse_csr, "
            "sparse_csc, sparse_bsr or sparse_bsc."
        )
    return _construct.compressed(
        layout,
        compressed_indices,
        plain_indices,
        values,
        size,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )


@operation
def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix of layout ``sparse_csr``: its rows are lists, one after the other.

    Args:
        crow_indices: where the list of each row begins, and where the last one ends.
        col_indices: the column of each value.
        values: the values, row by row.
        size: the shape of the result; by default the smallest that has all indices.
        dtype: the dtype of the result; by default that of the values.
        device: where the result is made; by default where the values are.
        pin_memory: has no effect.
        requires_grad: whether operations on the result are recorded.
        check_invariants: whether the indices are checked; by default as
            :class:`facula.sparse.check_sparse_tensor_invariants` says.

    Example:
        >>> x = facula.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], (2, 3))
        >>> x @ facula.ones(3)
        tensor([3., 9.])
    """
    import facula.sparse._construct as _construct

    return _construct.compressed(
        _core.sparse_csr,
        crow_indices,
        col_indices,
        values,
        size,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )


@operation
def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix of layout ``sparse_csc``: its columns are lists, one after the other.

    Args:
        ccol_indices: where the list of each column begins, and where the last one ends.
        row_indices: the row of each value.
        values: the values, column by column.
        size: the shape of the result; by default the smallest that has all indices.
        dtype: the dtype of the result; by default that of the values.
        device: where the result is made; by default where the values are.
        pin_memory: has no effect.
        requires_grad: whether operations on the result are recorded.
        check_invariants: whether the indices are checked; by default as
            :class:`facula.sparse.check_sparse_tensor_invariants` says.

    Example:
        >>> facula.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0], (2, 2)).to_dense()
        tensor([[0., 4.],
                [3., 0.]])
    """
    import facula.sparse._construct as _construct

    return _construct.compressed(
        _core.sparse_csc,
        ccol_indices,
        row_indices,
        values,
        size,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )


@operation
def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix of layout ``sparse_bsr``: rows of blocks are lists.

    Args:
        crow_indices: where the list of each row of blocks begins, and the last one ends.
        col_indices: the column of each block, counted in blocks.
        values: the blocks, row by row.
        size: the shape of the result; by default the smallest that has all blocks.
        dtype: the dtype of the result; by default that of the values.
        device: where the result is made; by default where the values are.
        pin_memory: has no effect.
        requires_grad: whether operations on the result are recorded.
        check_invariants: whether the indices are checked; by default as
            :class:`facula.sparse.check_sparse_tensor_invariants` says.

    Shape:
        values ``(N, H, W)``, N blocks of height H and width W; the sizes of the result are
        multiples of H and W.

    Example:
        >>> blocks = facula.tensor([[[1.0, 2.0]], [[3.0, 4.0]]])
        >>> facula.sparse_bsr_tensor([0, 1, 2], [1, 0], blocks).to_dense()
        tensor([[0., 0., 1., 2.],
                [3., 4., 0., 0.]])
    """
    return sparse_compressed_tensor(
        crow_indices,
        col_indices,
        values,
        size,
        dtype=dtype,
        layout=_core.sparse_bsr,
        device=device,
        pin_memory=pin_memory,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


@operation
def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix of layout ``sparse_bsc``: columns of blocks are lists.

    Args:
        ccol_indices: where the list of each column of blocks begins, and the last one ends.
        row_indices: the row of each block, counted in blocks.
        values: the blocks, column by column.
        size: the shape of the result; by default the smallest that has all blocks.
        dtype: the dtype of the result; by default that of the values.
        device: where the result is made; by default where the values are.
        pin_memory: has no effect.
        requires_grad: whether operations on the result are recorded.
        check_invariants: whether the indices are checked; by default as
            :class:`facula.sparse.check_sparse_tensor_invariants` says.

    Shape:
        values ``(N, H, W)``, N blocks of height H and width W; the sizes of the result are
        multiples of H and W.

    Example:
        >>> blocks = facula.tensor([[[1.0, 2.0]], [[3.0, 4.0]]])
        >>> facula.sparse_bsc_tensor([0, 1, 2], [1, 0], blocks).to_dense()
        tensor([[0., 0., 3., 4.],
                [1., 2., 0., 0.]])
    """
    return sparse_compressed_tensor(
        ccol_indices,
        row_indices,
        values,
        size,
        dtype=dtype,
        layout=_core.sparse_bsc,
        device=device,
        pin_memory=pin_memory,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


# ---- conversions


@operation(method="only")
def to_sparse(
    input: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The tensor as a sparse one, of its elements that are not zero.

    Args:
        sparse_dim: how many dimensions, from the first, are indexed; by default all.
        layout: the layout of the result; by default ``sparse_coo``.
        blocksize: the height and width of the blocks, for ``sparse_bsr`` and ``sparse_bsc``.
        dense_dim: how many dimensions, from the last, are those of the values.

    Example:
        >>> facula.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
        tensor(indices=tensor([[0],
                               [1]]),
               values=tensor([2.]),
               size=(2, 2), nnz=1, layout=torch.sparse_coo)
    """
    from facula.sparse import _convert

    return _convert.to_sparse(
        input, sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim
    )


@operation(method="only")
def to_sparse_coo(input: Tensor) -> Tensor:
    """The tensor in layout ``sparse_coo``.

    Example:
        >>> facula.eye(2).to_sparse_csr().to_sparse_coo().indices()
        tensor([[0, 1],
                [0, 1]])
    """
    from facula.sparse import _convert

    return _convert.to_sparse(input)


@operation(method="only")
def to_sparse_csr(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """The matrix in layout ``sparse_csr``, whose rows are lists.

    Args:
        dense_dim: how many dimensions, from the last, are those of the values.

    Example:
        >>> facula.eye(2).to_sparse_csr().crow_indices()
        tensor([0, 1, 2])
    """
    from facula.sparse import _convert

    return _convert.to_sparse_csr(input, dense_dim)


@operation(method="only")
def to_sparse_csc(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """The matrix in layout ``sparse_csc``, whose columns are lists.

    Args:
        dense_dim: how many dimensions, from the last, are those of the values.

    Example:
        >>> facula.eye(2).to_sparse_csc().row_indices()
        tensor([0, 1])
    """
    from facula.sparse import _convert

    return _convert.to_sparse_csc(input, dense_dim)


@operation(method="only")
def to_sparse_bsr(
    input: Tensor, blocksize: int | Sequence[int], dense_dim: int | None = None
) -> Tensor:
    """The matrix in layout ``sparse_bsr``, of its blocks that are not all zero, row by row.

    Args:
        blocksize: the height and the width of a block, which divide those of the matrix.
        dense_dim: how many dimensions, from the last, are those of the elements.

    Example:
        >>> facula.eye(4).to_sparse_bsr((2, 2)).crow_indices()
        tensor([0, 1, 2])
    """
    from facula.sparse import _convert

    return _convert.to_sparse_bsr(input, blocksize, dense_dim)


@operation(method="only")
def to_sparse_bsc(
    input: Tensor, blocksize: int | Sequence[int], dense_dim: int | None = None
) -> Tensor:
    """The matrix in layout ``sparse_bsc``, of its blocks that are not all zero, column by column.

    Args:
        blocksize: the height and the width of a block, which divide those of the matrix.
        dense_dim: how many dimensions, from the last, are those of the elements.

    Example:
        >>> facula.eye(4).to_sparse_bsc((2, 2)).ccol_indices()
        tensor([0, 1, 2])
    """
    from facula.sparse import _convert

    return _convert.to_sparse_bsc(input, blocksize, dense_dim)


@operation(method="only")
def to_dense(input: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor with all its elements, those of a sparse one that it has not being zero.

    A dense tensor is returned itself.

    Args:
        dtype: the dtype of the result, for dense tensors only.
        masked_grad: whether the gradient of a sparse tensor has its places only; by default True.

    Example:
        >>> facula.sparse_coo_tensor([[1]], [5.0], (3,)).to_dense()
        tensor([0., 5., 0.])
    """
    return input if dtype is None else input.to(dtype)


@operation(method="only")
def sparse_mask(input: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places of a sparse tensor.

    Args:
        mask: a sparse tensor of the same shape, whose places the result has.

    Example:
        >>> x = facula.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.sparse_mask(facula.eye(2).to_sparse()).values()
        tensor([1., 4.])
    """
    raise RuntimeError("sparse_mask: expected a sparse tensor as the mask, got a dense one.")


# ---- parts, which dense tensors do not have


def _dense(name: str, expected: str) -> RuntimeError:
    return RuntimeError(
        f"{name} expected sparse {expected} tensor layout but got Strided. Convert with "
        "to_sparse() or to_sparse_csr() first."
    )


@operation(method="only")
def indices(input: Tensor) -> Tensor:
    """The indices of a coalesced COO tensor, a column for each value.

    Example:
        >>> facula.eye(2).to_sparse().indices()
        tensor([[0, 1],
                [0, 1]])
    """
    raise _dense("indices", "coordinate")


@operation(method="only")
def values(input: Tensor) -> Tensor:
    """The values of a sparse tensor; a COO tensor must be coalesced.

    Example:
        >>> facula.eye(2).to_sparse().values()
        tensor([1., 1.])
    """
    raise RuntimeError(
        "values expected sparse tensor layout but got Strided. Convert with to_sparse() first."
    )


@operation(method="only")
def _indices(input: Tensor) -> Tensor:
    """The indices of a COO tensor as they are, perhaps several times the same.

    Args:
        input: a sparse tensor.

    Example:
        >>> x = facula.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,))
        >>> x._indices().tolist()
        [[0, 1]]
    """
    raise NotImplementedError(str(_dense("_indices", "coordinate")))


@operation(method="only")
def _values(input: Tensor) -> Tensor:
    """The values of a COO tensor as they are, perhaps several of an index. Has no history.

    Args:
        input: a sparse tensor.

    Example:
        >>> x = facula.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,))
        >>> x._values()
        tensor([1., 2.])
    """
    raise NotImplementedError(str(_dense("_values", "coordinate")))


@operation(method="only")
def _nnz(input: Tensor) -> int:
    """The number of values of a sparse tensor.

    Args:
        input: a sparse tensor.

    Example:
        >>> x = facula.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,))
        >>> x._nnz()
        2
    """
    raise NotImplementedError(str(_dense("_nnz", "coordinate")))


@operation(method="only")
def coalesce(input: Tensor) -> Tensor:
    """The COO tensor with its indices sorted and values of equal indices added up.

    Example:
        >>> facula.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (2,)).coalesce()
        tensor(indices=tensor([[0, 1]]),
               values=tensor([2., 4.]),
               size=(2,), nnz=2, layout=torch.sparse_coo)
    """
    raise _dense("coalesce", "coordinate")


@operation(method="only")
def is_coalesced(input: Tensor) -> bool:
    """Whether the indices of a COO tensor are known to be sorted, each once.

    Example:
        >>> facula.eye(2).to_sparse().is_coalesced()
        True
    """
    raise _dense("is_coalesced", "coordinate")


@operation(method="only")
def _coalesced_(input: Tensor, coalesced: bool) -> Tensor:
    """Say whether the indices of a COO tensor are sorted, each once.

    Args:
        input: a sparse tensor.
        coalesced: what :meth:`is_coalesced` will say.

    Example:
        >>> x = facula.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,))
        >>> x._coalesced_(True).is_coalesced()
        True
    """
    raise NotImplementedError(str(_dense("_coalesced_", "coordinate")))


@operation(method="only")
def sparse_dim(input: Tensor) -> int:
    """The number of dimensions that are indexed; 0 for a dense tensor.

    Example:
        >>> facula.eye(2).to_sparse().sparse_dim(), facula.eye(2).sparse_dim()
        (2, 0)
    """
    return 0


@operation(method="only")
def dense_dim(input: Tensor) -> int:
    """The number of dimensions that are not indexed; all of a dense tensor.

    Example:
        >>> facula.eye(2).to_sparse(1).dense_dim(), facula.eye(2).dense_dim()
        (1, 2)
    """
    return input.dim()


@operation(method="only")
def crow_indices(input: Tensor) -> Tensor:
    """Where the list of each row of a CSR tensor begins, and where the last one ends.

    Example:
        >>> facula.eye(2).to_sparse_csr().crow_indices()
        tensor([0, 1, 2])
    """
    raise _dense("crow_indices", "row compressed")


@operation(method="only")
def col_indices(input: Tensor) -> Tensor:
    """The column of each value of a CSR tensor.

    Example:
        >>> facula.eye(2).to_sparse_csr().col_indices()
        tensor([0, 1])
    """
    raise _dense("col_indices", "row compressed")


@operation(method="only")
def ccol_indices(input: Tensor) -> Tensor:
    """Where the list of each column of a CSC tensor begins, and where the last one ends.

    Example:
        >>> facula.eye(2).to_sparse_csc().ccol_indices()
        tensor([0, 1, 2])
    """
    raise _dense("ccol_indices", "column compressed")


@operation(method="only")
def row_indices(input: Tensor) -> Tensor:
    """The row of each value of a CSC tensor.

    Example:
        >>> facula.eye(2).to_sparse_csc().row_indices()
        tensor([0, 1])
    """
    raise _dense("row_indices", "column compressed")


@operation(method="only")
def sparse_resize_(input: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a COO tensor another shape in place; one with values can only grow.

    Args:
        size: the new shape.
        sparse_dim: how many of its dimensions are indexed.
        dense_dim: how many of its dimensions are those of the values.

    Example:
        >>> facula.eye(2).to_sparse().sparse_resize_((3, 3), 2, 0).shape
        torch.Size([3, 3])
    """
    raise _dense("sparse_resize_", "coordinate")


@operation(method="only")
def sparse_resize_and_clear_(input: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a COO tensor another shape in place, and no values.

    Args:
        size: the new shape.
        sparse_dim: how many of its dimensions are indexed.
        dense_dim: how many of its dimensions are those of the values.

    Example:
        >>> facula.eye(2).to_sparse().sparse_resize_and_clear_((3,), 1, 0)._nnz()
        0
    """
    raise _dense("sparse_resize_and_clear_", "coordinate")


@operation(method=True)
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """The product of a sparse matrix and a dense one, with a sparse result.

    Args:
        input: the sparse matrix.
        mat: the dense matrix.

    Shape:
        input ``(N, K)``, mat ``(K, M)``; result ``(N, M)``.

    Example:
        >>> facula.smm(facula.eye(2).to_sparse(), facula.ones(2, 1)).to_dense()
        tensor([[1.],
                [1.]])
    """
    return (input @ mat).to_sparse()


@operation
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse matrix and a dense one, without the rows that must be zero.

    Args:
        mat1: the sparse COO matrix.
        mat2: the dense matrix.

    Shape:
        mat1 ``(N, K)``, mat2 ``(K, M)``; result ``(N, M)`` with one sparse dimension.

    Example:
        >>> x = facula.sparse_coo_tensor([[2], [0]], [5.0], (4, 1))
        >>> facula.hspmm(x, facula.ones(1, 2))
        tensor(indices=tensor([[2]]),
               values=tensor([[5., 5.]]),
               size=(4, 2), nnz=1, layout=torch.sparse_coo)
    """
    rows = mat1.coalesce().indices()[0].unique()
    return sparse_coo_tensor(
        rows.unsqueeze(0), (mat1 @ mat2).index_select(0, rows), (mat1.size(0), mat2.size(1))
    )
