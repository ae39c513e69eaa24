"""Sparse tensors: those of which only the elements that are not zero are kept.

``facula.sparse_coo_tensor`` and ``facula.sparse_csr_tensor`` make them, ``Tensor.to_sparse()``
converts, and the functions below, like many operations on tensors, compute with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import facula
from facula._core import Tensor
from facula._ops._mark import operation

# The rules of operations on sparse tensors, each file those of its kind.
from facula.sparse import _blocks as _blocks
from facula.sparse import _construct, _derive, _products, _reduce
from facula.sparse import _convert as _convert
from facula.sparse import _pointwise as _pointwise
from facula.sparse import _print as _print
from facula.sparse import _shapes as _shapes
from facula.sparse._invariants import check_sparse_tensor_invariants
from facula.sparse._legacy import (
    BFloat16Tensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from facula.sparse._tensor import CSR, is_sparse

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
]


@operation(module="facula.sparse")
def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    """The product of two matrices, one of them sparse at least.

    Unlike that of ``facula.mm``, the gradient of a sparse factor is sparse: it has the places of
    the factor.

    Args:
        mat1: a sparse or dense matrix.
        mat2: a sparse or dense matrix; with two sparse ones the product is sparse too.
        reduce: what the products of an element are put together by; ``"sum"``, or ``"mean"`` for a
            CSR matrix and a dense one.

    Shape:
        mat1 ``(N, K)``, mat2 ``(K, M)``; result ``(N, M)``.

    Example:
        >>> eye = facula.eye(2).to_sparse()
        >>> facula.sparse.mm(eye, facula.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[1., 2.],
                [3., 4.]])
    """
    if not (is_sparse(mat1) or is_sparse(mat2)):
        raise RuntimeError("sparse.mm: expected a sparse matrix, got two dense ones. Use mm.")
    if reduce not in ("sum", "mean"):
        raise NotImplementedError(
            f"sparse.mm: expected reduce 'sum' or 'mean', got {reduce!r}. For other reductions use "
            "index_select and scatter_reduce."
        )
    product = _products.multiply("mm", mat1, mat2, is_masked=True)
    if reduce == "sum":
        return product
    if not is_sparse(mat1) or mat1.layout is not CSR or is_sparse(product):
        raise NotImplementedError("sparse.mm: reduce='mean' is for a CSR matrix and a dense one.")
    counts = mat1.crow_indices().diff().clamp(min=1)
    return product / counts.unsqueeze(1).to(product.dtype)


@operation(module="facula.sparse")
def addmm(
    mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)`` with a sparse matrix ``mat1``.

    The gradient of ``mat1`` is sparse, as that of :func:`mm`.

    Args:
        mat: the dense matrix that is added.
        mat1: the sparse factor.
        mat2: the dense factor.
        beta: what ``mat`` is multiplied by.
        alpha: what the product is multiplied by.

    Shape:
        mat ``(N, M)``, mat1 ``(N, K)``, mat2 ``(K, M)``; result ``(N, M)``.

    Example:
        >>> eye = facula.eye(2).to_sparse()
        >>> facula.sparse.addmm(facula.ones(2, 2), eye, facula.ones(2, 2), beta=2)
        tensor([[3., 3.],
                [3., 3.]])
    """
    product = _products.multiply("addmm", mat1, mat2, is_masked=True)
    return _products.add_product(mat, product, beta, alpha)


@operation(module="facula.sparse")
def sampled_addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: float = 1.0,
    alpha: float = 1.0,
    out: Tensor | None = None,
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` at the places of ``input`` alone.

    Args:
        input: a CSR matrix, whose places the result has.
        mat1: the first dense factor.
        mat2: the second dense factor.
        beta: what the values of ``input`` are multiplied by.
        alpha: what the product is multiplied by.
        out: must be None.

    Shape:
        input ``(N, M)``, mat1 ``(N, K)``, mat2 ``(K, M)``; result ``(N, M)``.

    Example:
        >>> eye = facula.eye(2).to_sparse_csr()
        >>> facula.sparse.sampled_addmm(eye, facula.ones(2, 3), facula.ones(3, 2)).values()
        tensor([4., 4.])
    """
    if not is_sparse(input) or input.layout is not CSR or out is not None:
        raise NotImplementedError(
            "sampled_addmm: expected a sparse CSR matrix as input, and no out=. Convert with "
            "to_sparse_csr()."
        )
    if (mat1.shape[0], mat2.shape[1]) != tuple(input.shape) or mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"sampled_addmm: shapes {tuple(mat1.shape)} and {tuple(mat2.shape)} cannot be "
            f"multiplied to a matrix of shape {tuple(input.shape)}."
        )
    product = _products.sampled(input, mat1, mat2.t()) * alpha
    return product if beta == 0 else input * beta + product


@operation(module="facula.sparse")
def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of the elements of a sparse tensor, of all or along dimensions.

    The result is sparse while a sparse dimension is left. Unlike that of ``Tensor.sum``, the
    gradient has the places of ``input``.

    Args:
        input: a COO tensor.
        dim: the dimension or dimensions that are summed over; None for all.
        dtype: the dtype of the result; None for the usual one.

    Example:
        >>> x = facula.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
        >>> facula.sparse.sum(x)
        tensor(12.)
        >>> facula.sparse.sum(x, 1).to_dense()
        tensor([3., 9.])
    """
    if not is_sparse(input):
        raise RuntimeError("sparse.sum: expected a sparse tensor, got a dense one. Use sum.")
    if input.layout is not facula.sparse_coo:
        raise RuntimeError(
            f"sparse.sum: expected a COO tensor, got one of layout {input.layout}. Convert with "
            "to_sparse()."
        )
    if dim is None:
        return _derive.values(_derive.coalesced(input)).sum(dtype=dtype)
    return _reduce.sum_of(input, dim, dtype)


@operation(module="facula.sparse")
def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax over the elements that a sparse tensor has; those it has not count as ``-inf``.

    Args:
        input: a COO tensor.
        dim: the dimension along which the results add up to one.
        dtype: the dtype that is computed in; None for that of ``input``.

    Shape:
        The result has the shape and the places of ``input``.

    Example:
        >>> x = facula.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 4.0], (2, 3))
        >>> facula.sparse.softmax(x, 1).to_dense()
        tensor([[0.0000, 0.0000, 1.0000],
                [0.5000, 0.0000, 0.5000]])
    """
    return _reduce.softmax_of("softmax", input, dim, dtype, is_log=False)


@operation(module="facula.sparse")
def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of :func:`softmax`.

    Args:
        input: a COO tensor.
        dim: the dimension along which the exponentials of the results add up to one.
        dtype: the dtype that is computed in; None for that of ``input``.

    Shape:
        The result has the shape and the places of ``input``.

    Example:
        >>> x = facula.sparse_coo_tensor([[0, 0]], [4.0, 4.0], (3,))
        >>> facula.sparse.log_softmax(x, 0).values()
        tensor([0.])
    """
    return _reduce.softmax_of("log_softmax", input, dim, dtype, is_log=True)


@operation(module="facula.sparse")
def spdiags(
    diagonals: Tensor, offsets: Tensor, shape: tuple[int, int], layout: Any = None
) -> Tensor:
    """A sparse matrix with given diagonals.

    Args:
        diagonals: a diagonal in each row; element ``j`` of it is in column ``j``.
        offsets: which diagonal each row is: 0 the main one, positive numbers are above it.
        shape: the shape of the matrix.
        layout: the layout of the result; by default ``sparse_coo``.

    Example:
        >>> diagonals = facula.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> facula.sparse.spdiags(diagonals, facula.tensor([0, 1]), (3, 3)).to_dense()
        tensor([[1., 5., 0.],
                [0., 2., 6.],
                [0., 0., 3.]])
    """
    return _construct.spdiags(diagonals, offsets, shape, layout)


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """Let a gradcheck take sparse inputs, and functions with sparse results.

    The values of a sparse input are varied, its places stay.

    Args:
        gradcheck: ``autograd.gradcheck`` or ``autograd.gradgradcheck``.

    Example:
        >>> check = facula.sparse.as_sparse_gradcheck(facula.autograd.gradcheck)
        >>> x = facula.eye(2, dtype=facula.float64).to_sparse().requires_grad_()
        >>> check(lambda x: facula.sparse.sum(x), x)
        True
    """

    def check(func: Callable[..., Any], inputs: Any, **kwargs: Any) -> Any:
        given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
        given = tuple(x.coalesce() if is_sparse(x) and x.is_sparse else x for x in given)
        dense = [
            x._data.clone().requires_grad_(x.requires_grad) if is_sparse(x) else x for x in given
        ]

        def of_values(*parts: Any) -> Any:
            pairs = zip(given, parts, strict=True)
            args = [_derive.with_values(x, p) if is_sparse(x) else p for x, p in pairs]
            results = func(*args)
            if isinstance(results, (tuple, list)):
                return tuple(map(_derive.to_dense, results))
            return _derive.to_dense(results)

        kwargs.pop("masked", None)
        return gradcheck(of_values, dense, **kwargs)

    return check
