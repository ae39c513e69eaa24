"""How gradients pass between sparse tensors and their values.

A gradient of a sparse tensor is sparse or dense, of the tensor's shape. Three kinds of functions
carry it: values become a tensor (:func:`from_parts`), a tensor gives its values (:func:`values`),
and linear maps, each of which names its own way back. What else there is is composed of them and of
operations on the values, and so has derivatives of every order.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import facula
from facula import _core
from facula._core import Tensor
from facula.autograd.function import Function
from facula.sparse import _index
from facula.sparse._tensor import BSC, BSR, COO, CSC, SparseTensor, is_sparse, make, requires_grad


def named(name: str, base: type[Function]) -> type[Function]:
    """The function with the name that PyTorch gives to its node."""
    made: Any = type(name, (base,), {})
    made._ctx_type.__name__ = f"{name}Backward0"
    return made  # type: ignore[no-any-return]


class _NoNode:
    """What ``forward`` writes to where nothing is recorded."""

    def save_for_backward(self, *tensors: Any) -> None:
        pass


def run(function: type[Function], *args: Any) -> Any:
    """The function, as one of the graph where its arguments have a history."""
    if _core._is_recorded(*args):
        return function.apply(*args)
    return function.forward(_NoNode(), *args)


class _FromParts(Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, *place: Any) -> Any:
        layout, index, size, is_coalesced = ctx.place = place
        ctx.blocksize = values.shape[1:3]
        return make(layout, index, values, size, is_coalesced)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        layout, index, _, _ = ctx.place
        if is_sparse(grad) and grad._kind is layout is not COO and grad._index is index:
            return values(grad), None, None, None, None
        if layout in (BSR, BSC):
            from facula.sparse._blocks import values_of_gradient

            of_values = values_of_gradient(layout, index, grad, ctx.blocksize)
            return of_values, None, None, None, None
        return values_at(grad, _index.as_coo(layout, index)), None, None, None, None


_from_coo = named("SparseCooTensorWithDimsAndTensors", _FromParts)
_from_compressed = named("SparseCompressedTensor", _FromParts)


def from_parts(
    layout: _core.layout,
    index: Sequence[Tensor],
    data: Tensor,
    size: Sequence[int],
    is_coalesced: bool = False,
) -> SparseTensor:
    """A sparse tensor of these values, through which gradients reach them."""
    if not _core._is_recorded(data):
        return make(layout, index, data, size, is_coalesced)
    function = _from_coo if layout is COO else _from_compressed
    made: SparseTensor = function.apply(data, layout, tuple(index), size, is_coalesced)
    return made


def with_values(x: SparseTensor, data: Tensor) -> SparseTensor:
    """Other values at the places of ``x``; each is one element of the result."""
    size = (*_index.sparse_sizes(x), *data.shape[1:])
    return from_parts(x._kind, x._index, data, size, x._flag)


class _Values(Function):
    @staticmethod
    def forward(ctx: Any, x: SparseTensor) -> Tensor:
        ctx.x = x._kind, x._index, x._size, x._flag
        return x._data.detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        layout, index, size, is_coalesced = ctx.x
        return from_parts(layout, index, grad, size, is_coalesced)


_values = named("Values", _Values)


def values(x: SparseTensor) -> Tensor:
    """The values of a coalesced or compressed tensor, with its history."""
    if not _core._is_recorded(x):
        return x._data.detach()
    result: Tensor = _values.apply(x)
    return result


def values_at(x: Tensor, indices: Tensor) -> Tensor:
    """The elements of a dense or sparse tensor at COO indices; zero where a sparse one has none."""
    n = indices.size(0)
    sizes = tuple(x.shape[:n])
    numbers = _index.places(indices, sizes)
    if not is_sparse(x):
        return x.reshape(math.prod(sizes), *x.shape[n:]).index_select(0, numbers)
    x = coalesced(to_coo(x))
    own = _index.indices_of(x)
    if own.shape == indices.shape and bool((own == indices).all()):
        return values(x)
    where, is_there = _index.found(numbers, _index.places(own, sizes))
    data = values(x)
    if data.size(0) == 0:
        return data.new_zeros((numbers.numel(), *data.shape[1:]))
    is_there = is_there.reshape(-1, *[1] * (data.dim() - 1))
    return data.index_select(0, where) * is_there


# ---- linear maps


class _Linear(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, there: Callable[[Any], Any], back: Callable[[Any], Any]) -> Any:
        ctx.back = back
        return there(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return ctx.back(grad), None, None


@functools.cache
def _linear_named(name: str) -> type[Function]:
    return named(name, _Linear)


def linear(name: str, x: Any, there: Callable[[Any], Any], back: Callable[[Any], Any]) -> Any:
    """``there(x)``, whose gradient is ``back`` of its own.

    Args:
        name: PyTorch's name of the node, without ``Backward0``.
        x: the tensor.
        there: the linear map, which need not be recorded.
        back: its transpose, for sparse and dense gradients, made of recorded operations.
    """
    if not requires_grad(x):
        return there(x)
    return _linear_named(name).apply(x, there, back)


def unchanged(grad: Tensor) -> Tensor:
    """The way back of a map that changes the form of a tensor alone."""
    return grad


# ---- forms of one tensor


def coalesced(x: SparseTensor) -> SparseTensor:
    """The tensor with sorted indices, each once; a compressed one is that already."""
    if x._flag or x._kind is not COO:
        return x

    def there(x: SparseTensor) -> SparseTensor:
        indices, data = _index.add_up(x._index[0], x._data, _index.sparse_sizes(x))
        return make(COO, (indices,), data, x._size, True)

    result: SparseTensor = linear("Coalesce", x, there, unchanged)
    return result


def to_coo(x: SparseTensor) -> SparseTensor:
    """The tensor in layout ``sparse_coo``."""
    if x._kind is COO:
        return x
    layout = x._kind

    def there(x: SparseTensor) -> SparseTensor:
        indices, sizes = _index.indices_of(x), _index.sparse_sizes(x)
        is_sorted = _index.is_rising(_index.places(indices, sizes))
        return make(COO, (indices,), x._data, x._size, is_sorted)

    result: SparseTensor = linear("ToSparse", x, there, lambda g: in_layout(g, layout))
    return result


def to_compressed(x: SparseTensor, layout: _core.layout) -> SparseTensor:
    """The tensor in layout ``sparse_csr`` or ``sparse_csc``."""
    if x._kind is layout:
        return x
    if len(x._size) < 2 or (x._kind is COO and x._index[0].size(0) != 2):
        raise RuntimeError(
            f"to_{str(layout).partition('.')[2]}: expected a tensor with two sparse dimensions, "
            f"got one of shape {tuple(x._size)}."
        )
    before = x._kind

    def there(x: SparseTensor) -> SparseTensor:
        indices, data = _index.indices_of(x), x._data
        if not x._flag:
            indices, data = _index.add_up(indices, data, _index.sparse_sizes(x))
        # Those that add_up() has changed were compared there.
        index, data = _index.compressed(layout, indices, data, x._size, is_inside=not x._flag)
        return make(layout, index, data, x._size)

    name = "ToSparseCsr" if layout is _core.sparse_csr else "ToSparseCsc"
    result: SparseTensor = linear(name, x, there, lambda g: in_layout(g, before))
    return result


def from_dense(x: Tensor, layout: _core.layout, sparse_dim: int | None = None) -> SparseTensor:
    """The elements of a dense tensor that are not zero."""
    size, n = x.shape, x.dim() if sparse_dim is None else sparse_dim

    def there(x: Tensor) -> SparseTensor:
        is_kept = x if n == x.dim() else (x != 0).any(tuple(range(n, x.dim())))
        if layout is CSC:
            x, is_kept = x.transpose(0, 1), is_kept.transpose(0, 1)
        # In memory nonzero() has a list for each dimension already.
        indices = is_kept.nonzero().t() if n else x.new_zeros((0, 1), dtype=facula.int64)
        data = x.reshape(math.prod(x.shape[:n]), *x.shape[n:])
        data = data.index_select(0, _index.places(indices, x.shape, is_inside=True))
        if layout is COO:
            return make(COO, (indices,), data, size, True)
        starts = _index.starts_of(indices[0], x.shape[0])
        return make(layout, (starts, indices[1]), data, size)

    name = {COO: "ToSparse", _core.sparse_csr: "ToSparseCsr"}.get(layout, "ToSparseCsc")
    result: SparseTensor = linear(name, x, there, to_dense)
    return result


def in_layout(x: Tensor, layout: _core.layout) -> Any:
    """A dense or sparse tensor in another sparse layout."""
    if not is_sparse(x):
        return from_dense(x, layout)
    return to_coo(x) if layout is COO else to_compressed(x, layout)


def to_dense(x: Any, masked_grad: bool | None = None) -> Tensor:
    """The tensor with all its elements; the gradient is at the places of ``x`` alone."""
    if not is_sparse(x):
        return x  # type: ignore[no-any-return]

    def there(x: SparseTensor) -> Tensor:
        return _core._scatter_places(_index.indices_of(x), x._data, x._size)

    layout = x._kind

    def back(grad: Tensor) -> Tensor:
        return in_layout(grad, layout) if masked_grad is False else masked(grad, distinct(x))

    result: Tensor = linear("ToDense", x, there, back)
    return result


def distinct(x: SparseTensor) -> SparseTensor:
    """The tensor if it has each place once, else its coalesced form: the places of a gradient."""
    if x._flag or x._kind is not COO:
        return x
    x = x.detach()  # type: ignore[assignment]
    once = coalesced(x)
    return x if once._data.size(0) == x._data.size(0) else once


def masked(x: Tensor, mask: SparseTensor) -> SparseTensor:
    """The elements of ``x`` at the places of ``mask``."""
    data = values_at(x, _index.indices_of(mask))
    return from_parts(mask._kind, mask._index, data, mask._size, mask._flag)
