"""Operations that move places: transposes, selections, joins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.autograd.function import Function
from facula.sparse import _derive, _index
from facula.sparse._derive import coalesced, linear, to_coo, with_values
from facula.sparse._tensor import (
    COO,
    CSC,
    CSR,
    SparseTensor,
    is_sparse,
    make,
    rule,
    unsupported,
)

# ---- transposes


def _permuted(name: str, x: Any, dims: Sequence[int]) -> Any:
    if not is_sparse(x):
        return x.permute(list(dims))
    back = sorted(range(len(dims)), key=dims.__getitem__)

    def there(x: SparseTensor) -> SparseTensor:
        size = [x._size[d] for d in dims]
        n = x._n_sparse
        in_values = [0, *(d - n + 1 for d in dims[n:])]
        data = x._data.permute(in_values)
        if x._kind is not COO:
            is_same = dims[0] == 0
            other = CSC if x._kind is CSR else CSR
            return make(x._kind if is_same else other, x._index, data, size)
        is_same = list(dims[:n]) == list(range(n))
        indices = x._index[0] if is_same else x._index[0][list(dims[:n])]
        return make(COO, (indices,), data, size, x._flag and is_same)

    return linear(name, x, there, lambda g: _permuted(name, g, back))


@rule("permute")
def permute(input: SparseTensor, *dims: Any) -> SparseTensor:
    given = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    order = [_index.wrap_dim("permute", d, len(input._size)) for d in given]
    if sorted(order) != list(range(len(input._size))):
        raise RuntimeError(
            f"permute: expected all {len(input._size)} dimensions once, got {tuple(given)}."
        )
    n = input._n_sparse
    if any(d >= n for d in order[:n]):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not "
            "allowed. Only transpositions within sparse and dense dimensions are supported."
        )
    return _permuted("Permute", input, order)  # type: ignore[no-any-return]


@rule("transpose", "swapaxes", "swapdims")
def transpose(input: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    return _swapped("Transpose", input, dim0, dim1)


def _swapped(name: str, x: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    d0, d1 = (_index.wrap_dim("transpose", d, len(x._size)) for d in (dim0, dim1))
    n = x._n_sparse
    if (d0 < n) != (d1 < n):
        raise RuntimeError(
            f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {n}, d0: {d0},"
            f" d1: {d1}"
        )
    order = list(range(len(x._size)))
    order[d0], order[d1] = order[d1], order[d0]
    return _permuted(name, x, order)  # type: ignore[no-any-return]


@rule("t")
def t(input: SparseTensor) -> SparseTensor:
    if len(input._size) > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{len(input._size)}D. Use transpose or permute."
        )
    return input if len(input._size) < 2 else _swapped("T", input, 0, 1)


@rule("T")
def T(input: SparseTensor) -> SparseTensor:
    return permute(input, *reversed(range(len(input._size))))


@rule("mT")
def mT(input: SparseTensor) -> SparseTensor:
    return transpose(input, -2, -1)


@rule("adjoint", "H", "mH")
def adjoint(input: SparseTensor) -> SparseTensor:
    return mT(input).conj()  # type: ignore[return-value]


# ---- selections


def _check_index(name: str, index: int, dim: int, size: int) -> int:
    if not -size <= index < size:
        raise IndexError(
            f"{name}: index {index} out of range for tensor of size {size} at dimension {dim}"
        )
    return index % size


@rule("select")
def select(input: SparseTensor, dim: int, index: int) -> Tensor:
    x = to_coo(input)
    dim = _index.wrap_dim("select", dim, len(x._size))
    at = _check_index("select", int(index), dim, x._size[dim])
    n = x._n_sparse
    if dim >= n:
        x = coalesced(x)
        return with_values(x, _derive.values(x).select(dim - n + 1, at))
    if n == 1:  # no sparse dimension is left
        return _only(x, at)
    size = [*x._size[:dim], *x._size[dim + 1 :]]

    def there(x: SparseTensor) -> SparseTensor:
        indices = x._index[0]
        kept = (indices[dim] == at).nonzero().reshape(-1)
        rest = [indices[d] for d in range(n) if d != dim]
        data = x._data.index_select(0, kept)
        return make(COO, (facula.stack(rest).index_select(1, kept),), data, size, x._flag)

    def back(grad: Any) -> Any:
        grad = grad.unsqueeze(dim)
        return _spread(grad, dim, facula.tensor([at], device=grad.device), x._size[dim])

    return linear("Select", x, there, back)  # type: ignore[no-any-return]


def _only(x: SparseTensor, at: int) -> Tensor:
    """The element, which may have dense dimensions, of a tensor with one sparse dimension."""
    wanted = facula.tensor([[at]], device=x.device)
    size = x._size

    def back(grad: Tensor) -> Tensor:
        zeros = facula.zeros(size, dtype=grad.dtype, device=grad.device)
        return zeros.index_add(0, wanted[0], grad.unsqueeze(0))

    return linear(  # type: ignore[no-any-return]
        "Select", x, lambda x: _derive.values_at(x, wanted).squeeze(0), back
    )


def _spread(grad: Any, dim: int, index: Tensor, size: int) -> Any:
    """The transpose of ``index_select``: row ``i`` of the gradient goes to row ``index[i]``."""
    sizes = [*grad.shape]
    sizes[dim] = size
    if not is_sparse(grad):
        zeros = facula.zeros(sizes, dtype=grad.dtype, device=grad.device)
        return zeros.index_add(dim, index, grad)
    grad = to_coo(grad)

    def there(x: SparseTensor) -> SparseTensor:
        rows = list(x._index[0])
        rows[dim] = index.index_select(0, rows[dim])
        return make(COO, (facula.stack(rows),), x._data, sizes)

    return linear("IndexSelectBackward", grad, there, lambda g: g.index_select(dim, index))


@rule("index_select")
def index_select(input: SparseTensor, dim: int, index: Tensor) -> SparseTensor:
    if input._kind is not COO:
        raise unsupported("index_select", input)
    dim = _index.wrap_dim("index_select", dim, len(input._size))
    n, size = input._n_sparse, list(input._size)
    if index.dim() > 1 or index.dtype not in (facula.int64, facula.int32):
        raise RuntimeError(
            "index_select: expected a vector of indices of dtype int64 or int32, got "
            f"{index.dtype} {tuple(index.shape)}."
        )
    index = index.reshape(-1).to(facula.int64)
    if index.numel():
        for at in (int(index.min()), int(index.max())):
            _check_index("index_select", at, dim, size[dim])
    index = facula.where(index < 0, index + size[dim], index)
    if dim >= n:
        x = coalesced(input)
        return with_values(x, _derive.values(x).index_select(dim - n + 1, index))
    before, size[dim] = size[dim], index.numel()

    def there(x: SparseTensor) -> SparseTensor:
        # Pairs of an index and a value that has it, in the order of the indices.
        own, order = x._index[0][dim].sort(stable=True)
        first = facula.searchsorted(own, index)
        counts = facula.searchsorted(own, index, right=True) - first
        chosen = facula.repeat_interleave(facula.arange(index.numel(), device=x.device), counts)
        offset = counts.cumsum(0) - counts
        within = facula.arange(chosen.numel(), device=x.device) - offset.index_select(0, chosen)
        where = order.index_select(0, first.index_select(0, chosen) + within)
        rows = list(x._index[0].index_select(1, where))
        rows[dim] = chosen
        return _in_order(x, rows, where, dim, size)

    result: SparseTensor = linear(
        "IndexSelect", input, there, lambda g: _spread(g, dim, index, before)
    )
    return result


def _in_order(
    x: SparseTensor, rows: list[Tensor], where: Tensor, dim: int, size: Sequence[int]
) -> SparseTensor:
    indices = facula.stack(rows)
    if dim > 0 and indices.size(1) > 1:  # as the values came, and among equal ones by index
        order = where.argsort(stable=True)
        if x._flag:
            order = _index.places(indices, size[: indices.size(0)]).argsort(stable=True)
        indices, where = indices.index_select(1, order), where.index_select(0, order)
    return make(COO, (indices,), x._data.index_select(0, where), size)


@rule("narrow_copy", "narrow")
def narrow(input: SparseTensor, dim: int, start: int, length: int) -> SparseTensor:
    if input._kind is not COO:
        raise unsupported("narrow", input)
    dim = _index.wrap_dim("narrow", dim, len(input._size))
    start = int(start)
    start = start + input._size[dim] if start < 0 else start
    if start < 0 or length < 0 or start + length > input._size[dim]:
        raise RuntimeError(
            f"narrow: start ({start}) + length ({length}) exceeds dimension size "
            f"({input._size[dim]})."
        )
    n, size = input._n_sparse, list(input._size)
    if dim >= n:
        x = coalesced(input)
        return with_values(x, _derive.values(x).narrow(dim - n + 1, start, length))
    before, size[dim] = size[dim], length

    def there(x: SparseTensor) -> SparseTensor:
        indices = x._index[0]
        kept = ((indices[dim] >= start) & (indices[dim] < start + length)).nonzero().reshape(-1)
        rows = list(indices.index_select(1, kept))
        rows[dim] = rows[dim] - start
        return make(COO, (facula.stack(rows),), x._data.index_select(0, kept), size, x._flag)

    index = facula.arange(start, start + length, device=input.device)
    result: SparseTensor = linear(
        "NarrowCopy", input, there, lambda g: _spread(g, dim, index, before)
    )
    return result


@rule("unbind")
def unbind(input: SparseTensor, dim: int = 0) -> tuple[Tensor, ...]:
    dim = _index.wrap_dim("unbind", dim, len(input._size))
    return tuple(select(input, dim, i) for i in range(input._size[dim]))


@rule("__getitem__")
def getitem(input: Any, index: Any) -> Tensor:
    if not is_sparse(input):
        raise unsupported("indexing with a sparse tensor", index)
    parts = list(index) if isinstance(index, tuple) else [index]
    n_taken = sum(part is not None and part is not Ellipsis for part in parts)
    if n_taken > len(input._size):
        raise IndexError(f"too many indices for tensor of dimension {len(input._size)}")
    if Ellipsis in [part for part in parts if not isinstance(part, Tensor)]:
        at = next(i for i, part in enumerate(parts) if part is Ellipsis)
        parts[at : at + 1] = [slice(None)] * (len(input._size) - n_taken)
    x: Any = input
    dim = 0
    for part in parts:
        if part is None:
            x = x.unsqueeze(dim)
            dim += 1
        elif isinstance(part, slice):
            steps = range(x.size(dim))[part]
            if steps != range(x.size(dim)):
                x = x.index_select(dim, facula.tensor(list(steps), dtype=facula.int64))
            dim += 1
        elif isinstance(part, (int, Tensor)) and not isinstance(part, bool):
            if isinstance(part, Tensor) and (part.dim() != 0 or part.dtype == facula.bool):
                raise unsupported("indexing with a tensor", input)
            x = x.select(dim, int(part))
        else:
            raise unsupported(f"indexing with {type(part).__name__}", input)
    return x  # type: ignore[no-any-return]


@rule("__setitem__")
def setitem(input: Any, index: Any, value: Any) -> None:
    raise unsupported("assignment to a part", input, index, value)


# ---- new and lost dimensions


@rule("unsqueeze")
def unsqueeze(input: SparseTensor, dim: int) -> SparseTensor:
    if input._kind is not COO:
        raise unsupported("unsqueeze", input)
    dim = _index.wrap_dim("unsqueeze", dim, len(input._size) + 1)
    n = input._n_sparse
    size = [*input._size[:dim], 1, *input._size[dim:]]

    def there(x: SparseTensor) -> SparseTensor:
        if dim > n:
            return make(COO, x._index, x._data.unsqueeze(dim - n + 1), size, x._flag)
        indices = x._index[0]
        row = indices.new_zeros((1, indices.size(1)))
        return make(COO, (facula.cat([indices[:dim], row, indices[dim:]]),), x._data, size)

    result: SparseTensor = linear("Unsqueeze", input, there, lambda g: g.squeeze(dim))
    return result


@rule("squeeze")
def squeeze(input: SparseTensor, dim: Any = None) -> SparseTensor:
    if input._kind is not COO:
        raise unsupported("squeeze", input)
    given = range(len(input._size)) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = [_index.wrap_dim("squeeze", d, len(input._size)) for d in given]
    x = input
    for d in sorted((d for d in dims if input._size[d] == 1), reverse=True):
        x = _without(x, d)
    return x


def _without(x: SparseTensor, dim: int) -> SparseTensor:
    n = x._n_sparse
    size = [*x._size[:dim], *x._size[dim + 1 :]]

    def there(x: SparseTensor) -> SparseTensor:
        if dim >= n:
            return make(COO, x._index, x._data.squeeze(dim - n + 1), size, x._flag)
        indices = x._index[0]
        return make(COO, (facula.cat([indices[:dim], indices[dim + 1 :]]),), x._data, size, x._flag)

    result: SparseTensor = linear("Squeeze", x, there, lambda g: g.unsqueeze(dim))
    return result


@rule("reshape", "view", "flatten", "view_as", "reshape_as", "ravel")
def reshape(input: Any, *args: Any, **kwargs: Any) -> Tensor:
    raise NotImplementedError(
        "reshape is not implemented for sparse tensors. Convert with to_dense() first."
    )


@rule("expand", "expand_as", "broadcast_to")
def expand(input: Any, *args: Any, **kwargs: Any) -> Tensor:
    raise NotImplementedError(
        "expand is unsupported for Sparse tensors. Convert with to_dense() first."
    )


# ---- joins


class _Cat(Function):
    @staticmethod
    def forward(ctx: Any, dim: int, *xs: SparseTensor) -> SparseTensor:
        ctx.dim, ctx.lengths = dim, [x._size[dim] for x in xs]
        dtype = xs[0].dtype
        for x in xs:
            dtype = facula.promote_types(dtype, x.dtype)
        size, n = list(xs[0]._size), xs[0]._n_sparse
        size[dim] = sum(ctx.lengths)
        start, indices, values = 0, [], []
        for x in xs:
            rows, data = x._index[0], x._data.to(dtype)
            if dim < n:
                rows = rows.clone()
                rows[dim] += start
            else:  # each has its part of the dense dimension, and zeros beside it
                whole = data.new_zeros((data.size(0), *size[n:]))
                whole.narrow(dim - n + 1, start, x._size[dim]).copy_(data)
                data = whole
            indices.append(rows)
            values.append(data)
            start += x._size[dim]
        return make(COO, (facula.cat(indices, 1),), facula.cat(values), size)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        grads, start = [], 0
        for length in ctx.lengths:
            grads.append(grad.narrow(ctx.dim, start, length))
            start += length
        return None, *grads


_cat = _derive.named("Cat", _Cat)


@rule("cat", "concat", "concatenate")
def cat(tensors: Any, dim: int = 0, *, out: Any = None) -> SparseTensor:
    if out is not None:
        raise unsupported("cat with out=", *tensors)
    for position, x in enumerate(tensors):
        if not is_sparse(x):
            raise RuntimeError(
                "Concatenating sparse tensors, but a dense tensor was found at position "
                f"{position}."
            )
        if x._kind is not COO:
            raise unsupported("cat", x)
    first = tensors[0]
    dim = _index.wrap_dim("cat", dim, len(first._size))
    rest = [*first._size[:dim], *first._size[dim + 1 :]]
    for position, x in enumerate(tensors):
        own = [*x._size[:dim], *x._size[dim + 1 :]]
        if x._n_sparse != first._n_sparse or own != rest:
            raise RuntimeError(
                f"Concatenating sparse tensors, but tensor {position} of shape {tuple(x._size)} "
                f"does not fit the first one, of shape {tuple(first._size)}."
            )
    return _derive.run(_cat, dim, *tensors)  # type: ignore[no-any-return]


@rule("stack")
def stack(tensors: Any, dim: int = 0, *, out: Any = None) -> SparseTensor:
    return cat([x.unsqueeze(dim) for x in tensors], dim, out=out)
