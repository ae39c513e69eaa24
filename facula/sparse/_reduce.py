"""Sums and softmax."""

from __future__ import annotations

from typing import Any

import facula
from facula._core import Tensor
from facula.sparse import _derive, _index
from facula.sparse._derive import coalesced, linear, to_coo, values
from facula.sparse._tensor import COO, SparseTensor, is_sparse, rule, unsupported


def _in_dtype(x: SparseTensor, dtype: Any) -> SparseTensor:
    if dtype is None and not (x.dtype.is_floating_point or x.dtype.is_complex):
        dtype = facula.int64  # as for dense tensors
    return x if dtype is None else x.to(dtype)  # type: ignore[return-value]


def _dims(name: str, x: SparseTensor, dim: Any) -> list[int]:
    given = [dim] if isinstance(dim, int) else list(dim)
    dims = [_index.wrap_dim(name, d, len(x._size)) for d in given]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"{name}: a dimension appears twice in {tuple(given)}.")
    return dims


def sum_of(x: SparseTensor, dim: Any, dtype: Any, keepdim: bool = False) -> Tensor:
    """The sum over dimensions, sparse while a sparse dimension is left."""
    dims = _dims("sum", x, dim)
    x = coalesced(x if dtype is None else x.to(dtype))  # type: ignore[arg-type]
    n = x._n_sparse
    data = values(x)
    in_values = [d - n + 1 for d in dims if d >= n]
    if in_values:
        data = data.sum(in_values, keepdim=keepdim, dtype=data.dtype)
    kept = [d for d in range(n) if d not in dims]
    if not kept:
        total = data.sum(0, dtype=dtype)
        return total.reshape([1] * n + list(total.shape)) if keepdim else total
    if keepdim:
        rows = [x._index[0][d] * (d not in dims) for d in range(n)]
        size = [1 if d in dims else x._size[d] for d in range(n)]
    else:
        rows = [x._index[0][d] for d in kept]
        size = [x._size[d] for d in kept]
    indices = facula.stack(rows)
    return coalesced(_derive.from_parts(COO, (indices,), data, (*size, *data.shape[1:])))


@rule("sum")
def sum(
    input: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    if dim is None or dim == ():
        size = input._size

        def back(grad: Tensor) -> Tensor:
            return grad.expand(size)

        return linear(  # type: ignore[no-any-return]
            "Sum", _in_dtype(input, dtype), lambda x: x._data.sum(), back
        )
    input = _in_dtype(input, dtype)
    if input._kind is COO:
        return sum_of(input, dim, dtype, keepdim)
    if not keepdim:
        raise RuntimeError(
            "reduction operations on CSR tensors with keepdim=False is unsupported. Convert with "
            "to_sparse() first."
        )
    total = sum_of(to_coo(input), dim, dtype, keepdim)
    return _derive.in_layout(total, input._kind)  # type: ignore[no-any-return]


@rule("any")
def any(input: SparseTensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    if dim is not None:
        raise unsupported("any along a dimension", input)
    return coalesced(to_coo(input))._data.any()


@rule("norm")
def norm(input: SparseTensor, p: Any = "fro", dim: Any = None, *args: Any, **kwargs: Any) -> Tensor:
    if dim is not None or args or any_of(kwargs):
        raise unsupported("norm along a dimension", input)
    order = 2 if p in ("fro", None) else p
    return facula.linalg.vector_norm(values(coalesced(input)), order)


def any_of(options: dict[str, Any]) -> bool:
    """Whether an option is given."""
    return {*options.values()} - {None, False} != set()


def softmax_of(name: str, x: Any, dim: int, dtype: Any, *, is_log: bool) -> SparseTensor:
    """Softmax over the elements that are there: the others count as ``-inf``."""
    if not is_sparse(x) or x._kind is not COO:
        raise (
            unsupported(name, x)
            if is_sparse(x)
            else RuntimeError(
                f"{name}: expected a sparse COO tensor, got a dense one. Use facula.softmax."
            )
        )
    x = coalesced(x if dtype is None else x.to(dtype))  # type: ignore[arg-type]
    if not x.dtype.is_floating_point:
        raise RuntimeError(f"{name}: expected a floating-point tensor, got {x.dtype}.")
    dim = _index.wrap_dim(name, dim, len(x._size))
    n = x._n_sparse
    data = values(x)
    if dim >= n:
        function = facula.log_softmax if is_log else facula.softmax
        return _derive.with_values(x, function(data, dim - n + 1))
    rest = [d for d in range(n) if d != dim]
    sizes = [x._size[d] for d in rest]
    if not data.size(0):
        return _derive.with_values(x, data)
    others = facula.stack([x._index[0][d] for d in rest]) if rest else x._index[0][:0]
    numbers, group = _index.places(others, sizes).unique(return_inverse=True)
    with facula.no_grad():
        lowest = data.new_full((numbers.numel(), *data.shape[1:]), -float("inf"))
        where = group.reshape(-1, *[1] * (data.dim() - 1)).expand(data.shape)
        highest = lowest.scatter_reduce(0, where, data.detach(), "amax").index_select(0, group)
        highest = facula.where(highest.isinf(), facula.zeros_like(highest), highest)
    shifted = data - highest
    weights = shifted.exp()
    totals = _index.add_rows(numbers.numel(), group, weights).index_select(0, group)
    return _derive.with_values(x, shifted - totals.log() if is_log else weights / totals)
