"""Matrix products."""

from __future__ import annotations

from typing import Any

import facula
from facula import _core
from facula._core import Tensor
from facula.autograd.function import Function
from facula.sparse import _derive, _index
from facula.sparse._derive import coalesced, distinct, to_compressed, values
from facula.sparse._tensor import (
    COO,
    CSC,
    CSR,
    SparseTensor,
    is_blocked,
    is_sparse,
    make,
    rule,
    unsupported,
)


def _check_product(name: str, a: Tensor, b: Tensor) -> None:
    left, right = a.shape, b.shape
    if len(left) != 2 or len(right) not in (1, 2):
        raise RuntimeError(
            f"{name}: expected a matrix and a matrix or vector, got {len(left)}D and "
            f"{len(right)}D tensors."
        )
    if left[1] != right[0]:
        raise RuntimeError(
            f"{name}: mat1 and mat2 shapes cannot be multiplied "
            f"({'x'.join(map(str, left))} and {'x'.join(map(str, right))}): expected dim 0 "
            f"size {left[1]}, got {right[0]}."
        )
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: expected tensors of one dtype, got {a.dtype} and {b.dtype}. Convert one of "
            "them with to()."
        )


def _check_matrix(name: str, x: SparseTensor) -> None:
    if x._n_sparse != 2 or x._data.dim() != 1:
        raise RuntimeError(
            f"{name}: expected a sparse matrix, with two sparse dimensions and no dense ones, got "
            f"one of shape {tuple(x._size)} with {x._n_sparse} sparse dimensions."
        )


def _rows(x: SparseTensor, *, is_transposed: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Starts, columns and values of the rows of a matrix of any layout, or of its transpose.

    What has to be sorted for that is kept: a graph is multiplied with again and again.
    """
    if x._kind is (CSC if is_transposed else CSR):
        starts, columns = x._index
        return starts, columns, x._data
    versions = [part._n_writes for part in x._index]
    known: Any = x.__dict__.setdefault("_sorted", {}).get(is_transposed)
    if known is None or known[0] is not x._index or known[1] != versions:
        known = (x._index, versions, *_sorted_rows(x, is_transposed))
        x.__dict__["_sorted"][is_transposed] = known
    starts, columns, order = known[2:]
    return starts, columns, x._data if order is None else x._data.index_select(0, order)


def _sorted_rows(x: SparseTensor, is_transposed: bool) -> tuple[Tensor, Tensor, Tensor | None]:
    indices = _index.indices_of(x)
    _index.places(indices, x._size)  # raises for what is outside
    rows, columns = indices.flip(0) if is_transposed else indices
    order = None
    if not bool((rows[1:] >= rows[:-1]).all()):
        rows, order = rows.sort(stable=True)
        columns = columns.index_select(0, order)
    return _index.starts_of(rows, x._size[1 if is_transposed else 0]), columns, order


class _Mm(Function):
    """A sparse matrix times a dense one; the gradient of the first is masked or dense."""

    is_masked = False

    @classmethod
    def forward(cls, ctx: Any, x: SparseTensor, dense: Tensor, is_transposed: bool) -> Tensor:
        ctx.save_for_backward(x, dense)
        ctx.is_transposed = is_transposed
        starts, columns, data = _rows(x, is_transposed=is_transposed)
        if dense.is_cuda:
            product = data.unsqueeze(-1) * dense.index_select(0, columns)
            return _index.add_rows(
                starts.numel() - 1, _index.rows_of(starts, columns.numel()), product
            )
        return _core._csr_mm(starts, columns, data, dense)

    @classmethod
    def backward(cls, ctx: Any, grad: Tensor) -> Any:
        x, dense = ctx.saved_tensors
        of_x = of_dense = None
        if ctx.needs_input_grad[0]:
            pair = (dense.conj(), grad) if ctx.is_transposed else (grad, dense.conj())
            of_x = sampled(distinct(x), *pair) if cls.is_masked else pair[0] @ pair[1].t()
        if ctx.needs_input_grad[1]:
            of_dense = _derive.run(_mm, x.conj(), grad, not ctx.is_transposed)
        return of_x, of_dense, None


class _MaskedMm(_Mm):
    is_masked = True


_mm = _derive.named("Mm", _Mm)
_masked_mm = _derive.named("SparseAddmm", _MaskedMm)


class _Bmm(Function):
    """A batch of sparse matrices times a batch of dense ones."""

    @staticmethod
    def forward(ctx: Any, x: SparseTensor, dense: Tensor) -> Tensor:
        ctx.save_for_backward(x, dense)
        n, n_rows, n_inner = x._size
        # One matrix with the batch along its diagonal.
        x = coalesced(x)
        batch, row, column = x._index[0]
        indices = facula.stack([batch * n_rows + row, batch * n_inner + column])
        diagonal = make(COO, (indices,), x._data, (n * n_rows, n * n_inner), True)
        product = diagonal @ dense.reshape(n * n_inner, dense.size(2))
        return product.reshape(n, n_rows, dense.size(2))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, dense = ctx.saved_tensors
        return (
            facula.bmm(grad, dense.conj().transpose(1, 2)) if ctx.needs_input_grad[0] else None,
            _derive.run(_bmm, x.transpose(1, 2).conj(), grad) if ctx.needs_input_grad[1] else None,
        )


_bmm = _derive.named("Bmm", _Bmm)


class _Dots(Function):
    """For each place (r, c) of a matrix: the product of row r of ``a`` and row c of ``b``."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, pattern: SparseTensor) -> Tensor:
        ctx.save_for_backward(a, b)
        ctx.pattern = pattern
        if pattern._kind is CSR and a.is_floating_point() and not a.is_cuda:
            starts, columns = pattern._index
            return _core._csr_dots(starts, columns, a, b)
        rows, columns = _index.indices_of(pattern)
        return (a.index_select(0, rows) * b.index_select(0, columns)).sum(-1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        a, b = ctx.saved_tensors
        p = ctx.pattern
        weights = _derive.from_parts(p._kind, p._index, grad, p._size, p._flag)
        return (
            _derive.run(_mm, weights, b.conj(), False) if ctx.needs_input_grad[0] else None,
            _derive.run(_mm, weights, a.conj(), True) if ctx.needs_input_grad[1] else None,
            None,
        )


def sampled(pattern: SparseTensor, a: Tensor, b: Tensor) -> SparseTensor:
    """``a @ b.T`` at the places of a matrix."""
    data = _derive.run(_Dots, a, b, pattern.detach())
    return _derive.from_parts(pattern._kind, pattern._index, data, pattern._size, pattern._flag)


def _times_sparse(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """The product of two sparse matrices: every pair of values that meet, added up."""
    if a._kind is not b._kind and COO in (a._kind, b._kind):
        raise RuntimeError(
            f"mm: expected factors of one layout, got {a._kind} and {b._kind}. Convert one of them "
            "with to_sparse() or to_sparse_csr()."
        )
    left, right = coalesced(a), to_compressed(b, CSR)
    rows, inner = _index.indices_of(left)
    starts, columns = (part.to(facula.int64) for part in right._index)
    counts = starts.diff().index_select(0, inner)
    first = facula.repeat_interleave(facula.arange(inner.numel(), device=a.device), counts)
    offset = counts.cumsum(0) - counts
    within = facula.arange(first.numel(), device=a.device) - offset.index_select(0, first)
    second = starts.index_select(0, inner).index_select(0, first) + within
    data = values(left).index_select(0, first) * values(right).index_select(0, second)
    indices = facula.stack([rows.index_select(0, first), columns.index_select(0, second)])
    size = (a._size[0], b._size[1])
    product = coalesced(_derive.from_parts(COO, (indices,), data, size))
    return product if a._kind is COO else to_compressed(product, a._kind)


def multiply(name: str, a: Tensor, b: Tensor, *, is_masked: bool = False) -> Tensor:
    """The product of matrices, one of them sparse at least."""
    _check_product(name, a, b)
    if is_blocked(a) or is_blocked(b):
        from facula.sparse import _blocks

        return _blocks.multiply(name, a, b)
    if is_sparse(a):
        _check_matrix(name, a)
    if is_sparse(b):
        _check_matrix(name, b)
        if is_sparse(a):
            return _times_sparse(a, b)
    function = _masked_mm if is_masked else _mm
    if is_sparse(a):
        return _derive.run(function, a, b, False)  # type: ignore[no-any-return]
    return _derive.run(function, b, a.t(), True).t()  # type: ignore[no-any-return]


@rule("mm")
def mm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    if out is not None:
        raise unsupported("mm with out=", input, mat2)
    if mat2.dim() != 2:
        raise RuntimeError(f"mm: expected matrices, got a tensor of {mat2.dim()} dimensions.")
    return multiply("mm", input, mat2)


@rule("mv")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    if is_sparse(vec) or vec.dim() != 1:
        raise RuntimeError("mv: expected a sparse matrix and a dense vector.")
    _check_product("mv", input, vec)
    return multiply("mv", input, vec.unsqueeze(1)).squeeze(1)


@rule("matmul", "__rmatmul__")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        raise TypeError("matmul: expected two tensors.")
    if input.dim() == 2 and other.dim() == 2:
        return multiply("matmul", input, other)
    if input.dim() == 2 and other.dim() == 1 and is_sparse(input):
        return mv(input, other)
    if input.dim() == 1 and other.dim() == 2 and is_sparse(other):
        return mv(other.t(), input)
    if input.dim() == 1 and other.dim() == 2:
        return multiply("matmul", input.unsqueeze(0), other).squeeze(0)
    if input.dim() == 3 and other.dim() == 3 and is_sparse(input):
        return bmm(input, other)
    raise unsupported(f"matmul of {input.dim()}D and {other.dim()}D tensors", input, other)


@rule("addmm")
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    if out is not None:
        raise unsupported("addmm with out=", input, mat1, mat2)
    return add_product(input, multiply("addmm", mat1, mat2), beta, alpha)


def add_product(input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """``beta * input + alpha * product``; an input whose factor is zero is not looked at."""
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product.expand(product.shape) if not is_sparse(product) else product
    return (input if beta == 1 else input * beta) + product


@rule("addmm_")
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    if is_sparse(input):
        raise unsupported("addmm_", input)
    return input.copy_(addmm(input, mat1, mat2, beta=beta, alpha=alpha))


@rule("addmv")
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return add_product(input, mv(mat, vec), beta, alpha)


@rule("bmm")
def bmm(input: SparseTensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    if not is_sparse(input) or is_sparse(mat2) or out is not None:
        raise unsupported("bmm of these layouts", input, mat2)
    if input._kind is not COO or input._n_sparse != 3 or mat2.dim() != 3:
        raise RuntimeError(
            "bmm: expected a sparse COO tensor with three sparse dimensions and a dense tensor of "
            f"three, got shapes {tuple(input._size)} and {tuple(mat2.shape)}."
        )
    n, _, inner = input._size
    if mat2.shape[0] != n or mat2.shape[1] != inner:
        raise RuntimeError(
            f"bmm: expected a second factor of shape ({n}, {inner}, *), got {tuple(mat2.shape)}."
        )
    return _derive.run(_bmm, input, mat2)  # type: ignore[no-any-return]


@rule("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if is_sparse(bias) or (is_sparse(input) and is_sparse(weight)):
        raise unsupported("linear of these layouts", input, weight, bias)
    if is_sparse(input):
        product = multiply("linear", input, weight.t())
    else:
        flat = input.reshape(-1, input.shape[-1])
        product = multiply("linear", flat, weight.t()).reshape(*input.shape[:-1], weight.shape[0])
    return product if bias is None else product + bias
