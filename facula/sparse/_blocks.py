"""The layouts of blocks, ``sparse_bsr`` and ``sparse_bsc``.

A matrix of blocks is a CSR or CSC matrix whose elements are blocks: its *grid*, of shape ``(rows of
blocks, columns of blocks, height, width)``, has the same indices and the same values. What is done
to such a tensor is done to its grid, or to its values. The rules of other layouts do not know of
blocks, so these tensors have rules of their own; an operation without one is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import facula
from facula import _core
from facula._core import Tensor
from facula.sparse import _convert as _convert  # some of whose rules are shared
from facula.sparse import _derive, _index, _pointwise
from facula.sparse import _print as _print
from facula.sparse import _products as _products
from facula.sparse._derive import from_parts, linear, values
from facula.sparse._tensor import (
    BLOCK_RULES,
    BSC,
    BSR,
    COO,
    CSC,
    CSR,
    RULES,
    SparseTensor,
    become,
    functions_named,
    is_blocked,
    is_sparse,
    make,
    rule,
    unsupported,
)

_OF_GRID = {BSR: CSR, BSC: CSC}
_NODES = {BSR: "ToSparseBsr", BSC: "ToSparseBsc"}


_Rule = TypeVar("_Rule", bound=Callable[..., Any])


def _rule(*names: str) -> Callable[[_Rule], _Rule]:
    return rule(*names, rules=BLOCK_RULES)


# ---- the grid


def blocksize_of(x: SparseTensor) -> tuple[int, int]:
    """The height and the width of the blocks."""
    height, width = x._data.shape[1:3]
    return height, width


def _grid_size(size: Sequence[int], blocksize: Sequence[int]) -> tuple[int, ...]:
    (height, width), (n_rows, n_columns) = blocksize, size[:2]
    n = (n_rows // max(height, 1), n_columns // max(width, 1))
    return (*n, height, width, *size[2:])


def _matrix(grid: Tensor) -> Tensor:
    """The dense matrix of a dense grid of blocks."""
    rows, columns, height, width, *rest = grid.shape
    return grid.transpose(1, 2).reshape(rows * height, columns * width, *rest)


def _cut(x: Tensor, blocksize: Sequence[int]) -> Tensor:
    """The grid of a dense matrix."""
    rows, columns, height, width, *rest = _grid_size(x.shape, blocksize)
    return x.reshape(rows, height, columns, width, *rest).transpose(1, 2)


def grid(x: SparseTensor) -> SparseTensor:
    """The CSR or CSC tensor whose elements are the blocks."""
    kind, size = x._kind, x._size

    def there(x: SparseTensor) -> SparseTensor:
        return make(_OF_GRID[kind], x._index, x._data, _grid_size(size, blocksize_of(x)))

    def back(grad: Any) -> Any:
        return from_grid(grad, kind) if is_sparse(grad) else _matrix(grad)

    result: SparseTensor = linear("Grid", x, there, back)
    return result


def from_grid(x: SparseTensor, kind: _core.layout, name: str = "FromGrid") -> SparseTensor:
    """The matrix of blocks whose grid this is."""
    x = _derive.in_layout(x, _OF_GRID[kind])
    rows, columns, height, width, *rest = x._size
    size = (rows * height, columns * width, *rest)

    def there(x: SparseTensor) -> SparseTensor:
        return make(kind, x._index, x._data, size)

    def back(grad: Any) -> Any:
        if is_sparse(grad) and is_blocked(grad) and blocksize_of(grad) == (height, width):
            return grid(grad)
        return _cut(grad.to_dense(), (height, width))

    result: SparseTensor = linear(name, x, there, back)
    return result


def values_of_gradient(
    layout: _core.layout, index: Sequence[Tensor], grad: Tensor, blocksize: Sequence[int]
) -> Tensor:
    """The blocks of a gradient at the places of a tensor."""
    indices = _index.as_coo(_OF_GRID[layout], index)
    return _derive.values_at(_cut(grad.to_dense(), blocksize), indices)


# ---- layouts


def to_blocks(
    x: Tensor, layout: _core.layout, blocksize: Any, dense_dim: int | None
) -> SparseTensor:
    """What ``to_sparse_bsr`` and ``to_sparse_bsc`` make."""
    name = f"to_{str(layout).rpartition('.')[2]}"
    if blocksize is None:
        raise RuntimeError(f"{name}: conversion without blocksize argument given is not supported")
    pair = (blocksize, blocksize) if isinstance(blocksize, int) else tuple(blocksize)
    if len(pair) != 2 or min(pair) <= 0:
        raise RuntimeError(
            f"{name}: blocksize needs to be a tuple of size 2 of positive ints, got {blocksize}."
        )
    if x.dim() != 2 + (dense_dim or 0):
        raise NotImplementedError(
            f"{name}: expected a matrix, and behind its dimensions dense_dim others, got a tensor "
            f"of shape {tuple(x.shape)}. Of a batch make a tensor of each matrix."
        )
    if x.shape[0] % pair[0] or x.shape[1] % pair[1]:
        raise RuntimeError(
            f"{name}: tensor sparse size ({x.shape[0]},{x.shape[1]}) must be divisible by given "
            f"blocksize ({pair[0]},{pair[1]})"
        )
    if not is_sparse(x):
        made = _derive.from_dense(_cut(x, pair), _OF_GRID[layout], 2)
        return from_grid(made, layout, _NODES[layout])
    if not is_blocked(x):
        return _gathered(x, layout, pair)
    if blocksize_of(x) != pair:
        raise RuntimeError(
            f"{name}: conversion from {x._kind} to {layout} with blocksize changed from "
            f"{list(blocksize_of(x))} to {list(pair)} is not supported"
        )
    return x if x._kind is layout else from_grid(grid(x), layout, _NODES[layout])


def _gathered(x: SparseTensor, layout: _core.layout, blocksize: tuple[int, int]) -> SparseTensor:
    """Single elements put into blocks."""
    x = _derive.coalesced(_derive.to_coo(x))
    (height, width), (row, column) = blocksize, x._index[0]
    rows, columns, *_ = _grid_size(x._size, blocksize)
    block = (row // height) * columns + column // width
    number, which = block.unique(return_inverse=True)
    place = which * (height * width) + row % height * width + column % width
    data = values(x)
    blocks = data.new_zeros((number.numel() * height * width, *data.shape[1:]))
    blocks = blocks.index_add(0, place, data)
    blocks = blocks.reshape(number.numel(), height, width, *data.shape[1:])
    indices = _index.indices_of_places(number, (rows, columns))
    size = _grid_size(x._size, blocksize)
    made = from_parts(COO, (indices,), blocks, size, True)
    return from_grid(made, layout, _NODES[layout])


def _to_coo(x: SparseTensor) -> SparseTensor:
    height, width = blocksize_of(x)
    row, column = _index.indices_of(grid(x.detach()))  # type: ignore[arg-type]
    within = facula.arange(height * width, device=x.device)
    rows = (row * height).unsqueeze(1) + within // width
    columns = (column * width).unsqueeze(1) + within % width
    indices = facula.stack([rows.reshape(-1), columns.reshape(-1)])
    data = values(x).flatten(0, 2)
    is_sorted = _index.is_rising(_index.places(indices, x._size))
    return from_parts(COO, (indices,), data, x._size, is_sorted)


@_rule("to_dense")
def to_dense(input: SparseTensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    if dtype is not None:
        raise RuntimeError(
            "to_dense: dtype argument is not supported for sparse tensors. Convert the result with "
            "to(dtype)."
        )
    return _matrix(_derive.to_dense(grid(input), masked_grad))


@_rule("to_sparse")
def to_sparse(
    input: SparseTensor,
    sparse_dim: int | None = None,
    *,
    layout: _core.layout | None = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> SparseTensor:
    if sparse_dim not in (None, 2):
        raise RuntimeError(f"to_sparse: expected sparse_dim 2 for blocks, got {sparse_dim}.")
    if layout in _OF_GRID:
        return to_blocks(input, layout, blocksize, dense_dim or input.dense_dim())
    if blocksize is not None:
        raise RuntimeError(f"to_sparse: layout {layout} has no blocksize.")
    made = _to_coo(input)
    return made if layout in (None, COO) else _derive.in_layout(made, layout)


@_rule("to_sparse_coo")
def _to_sparse_coo(input: SparseTensor) -> SparseTensor:
    return to_sparse(input)


@_rule("to_sparse_csr")
def _to_sparse_csr(input: SparseTensor, dense_dim: int | None = None) -> SparseTensor:
    return to_sparse(input, layout=CSR)


@_rule("to_sparse_csc")
def _to_sparse_csc(input: SparseTensor, dense_dim: int | None = None) -> SparseTensor:
    return to_sparse(input, layout=CSC)


@_rule("to_sparse_bsr")
def _to_sparse_bsr(
    input: SparseTensor, blocksize: Any, dense_dim: int | None = None
) -> SparseTensor:
    return to_sparse(input, layout=BSR, blocksize=blocksize)


@_rule("to_sparse_bsc")
def _to_sparse_bsc(
    input: SparseTensor, blocksize: Any, dense_dim: int | None = None
) -> SparseTensor:
    return to_sparse(input, layout=BSC, blocksize=blocksize)


@_rule("sparse_mask")
def sparse_mask(input: Tensor, mask: SparseTensor) -> SparseTensor:
    if not is_sparse(mask) or not is_blocked(mask):
        raise unsupported("sparse_mask with these layouts", input, mask)
    if tuple(input.shape) != tuple(mask._size):
        raise RuntimeError(
            f"sparse_mask: operands have incompatible sizes; self has size {tuple(input.shape)} "
            f"but mask has size {tuple(mask._size)}"
        )
    blocks = _cut(input.to_dense(), blocksize_of(mask))
    return from_grid(_derive.masked(blocks, grid(mask.detach())), mask._kind)  # type: ignore[arg-type]


# Rules that look at values and indices alone, whatever they stand for.
_SHARED = """
    detach data clone copy_ to type_as float double half bfloat16 int long short char
    byte bool cfloat cdouble cpu cuda neg neg_ negative negative_ __repr__ __format__ __deepcopy__
    __reduce_ex__ backward numpy __array__ __dlpack__ __dlpack_device__ is_contiguous is_pinned
    is_shared is_conj is_neg resolve_conj resolve_neg positive item __bool__ __float__ __int__
    coalesce stride
"""
for _name in _SHARED.split():
    for _function in functions_named(_name):
        BLOCK_RULES[_function] = RULES[_function]
BLOCK_RULES[Tensor.data.__set__] = RULES[Tensor.data.__set__]  # type: ignore[attr-defined]


def empty(x: SparseTensor, **options: Any) -> SparseTensor:
    """A tensor of the form of ``x`` without blocks."""
    data = x._data[:0].to(**options).clone()
    index = [facula.zeros_like(x._index[0]), x._index[1][:0].clone()]
    return make(x._kind, [part.to(data.device) for part in index], data, x._size)


@_rule("zeros_like", "empty_like")
def _zeros_like(
    input: SparseTensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **kwargs: Any,
) -> Tensor:
    options = {"dtype": dtype or input.dtype, "device": device or input.device}
    if layout is _core.strided:
        return facula.zeros(input._size, requires_grad=requires_grad, **options)
    if layout not in (None, input._kind):
        raise unsupported(f"zeros_like with layout {layout}", input)
    return empty(input, **options).requires_grad_(requires_grad)


@_rule("ones_like")
def _ones_like(input: SparseTensor, **options: Any) -> Tensor:
    data = facula.ones_like(input._data, **options)
    return make(input._kind, input._index, data, input._size)


@_rule("zero_")
def _zero_(input: SparseTensor) -> SparseTensor:
    return become(input, empty(input))


# ---- transposes


def _transposed(x: Any) -> Any:
    if not is_sparse(x):
        return x.transpose(0, 1)

    def there(x: SparseTensor) -> SparseTensor:
        size = (x._size[1], x._size[0], *x._size[2:])
        kind = BSC if x._kind is BSR else BSR
        return make(kind, x._index, x._data.transpose(1, 2), size)

    return linear("Transpose", x, there, _transposed)


@_rule("transpose", "swapaxes", "swapdims")
def _transpose(input: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    dims = {_index.wrap_dim("transpose", d, len(input._size)) for d in (dim0, dim1)}
    if dims != {0, 1}:
        raise RuntimeError(
            f"transpose: of a matrix of blocks dimensions 0 and 1 can be swapped, got {dim0} and "
            f"{dim1}."
        )
    return _transposed(input)  # type: ignore[no-any-return]


@_rule("t", "T", "mT")
def _t(input: SparseTensor) -> SparseTensor:
    return _transposed(input)  # type: ignore[no-any-return]


@_rule("adjoint", "H", "mH")
def _adjoint(input: SparseTensor) -> SparseTensor:
    return _transposed(input).conj()  # type: ignore[no-any-return]


# ---- element by element


def _applied(x: SparseTensor, function: Any) -> SparseTensor:
    return from_parts(x._kind, x._index, function(values(x)), x._size)


def _register(name: str) -> None:
    function = getattr(facula, name)

    @_rule(name)
    def out_of_place(input: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        _pointwise.check_no_out(name, kwargs)
        return _applied(input, lambda data: function(data, *args, **kwargs))

    @_rule(name + "_")
    def in_place(input: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        return _pointwise.into(name, input, out_of_place(input, *args, **kwargs))


for _name in _pointwise.KEEP_ZERO.split():
    if hasattr(facula, _name):
        _register(_name)


@_rule("conj")
def _conj(input: SparseTensor) -> SparseTensor:
    return _applied(input, facula.conj_physical) if input._data.is_complex() else input


@_rule("add")
def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    _pointwise.check_no_out("add", {"out": out})
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        raise RuntimeError("add: a sparse tensor and a number have no sparse sum. Use to_dense().")
    if tuple(input.shape) != tuple(other.shape):
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(input.shape)} != "
            f"{list(other.shape)}"
        )
    if not (is_sparse(input) and is_sparse(other)):
        return facula.add(input.to_dense(), other.to_dense(), alpha=alpha)
    _check_same_blocks("add", input, other)
    return from_grid(facula.add(grid(input), grid(other), alpha=alpha), input._kind)  # type: ignore[arg-type]


def _check_same_blocks(name: str, a: SparseTensor, b: SparseTensor) -> None:
    if a._kind is not b._kind or blocksize_of(a) != blocksize_of(b):
        raise RuntimeError(
            f"{name}: expected tensors of one layout and one size of blocks, got {a._kind} and "
            f"{b._kind} with values {tuple(a._data.shape)} and {tuple(b._data.shape)}."
        )


@_rule("add_")
def _add_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    if is_sparse(input):
        return _pointwise.into("add", input, add(input, other, alpha=alpha))
    return input.add_(to_dense(other), alpha=alpha)


@_rule("sub", "subtract")
def _sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    return add(input, other, alpha=-alpha)


@_rule("mul", "multiply", "__rmul__")
def mul(input: Any, other: Any, *, out: Any = None) -> Tensor:
    _pointwise.check_no_out("mul", {"out": out})
    x, factor = (input, other) if is_sparse(input) else (other, input)
    if not isinstance(factor, Tensor) or factor.dim() == 0:
        return _applied(x, lambda data: data * factor)
    if is_sparse(factor):
        _check_same_blocks("mul", x, factor)
        return from_grid(grid(x) * grid(factor), x._kind)  # type: ignore[arg-type]
    blocks = _cut(factor.expand(x._size), blocksize_of(x))
    return from_grid(grid(x) * blocks, x._kind)  # type: ignore[arg-type]


@_rule("mul_", "multiply_")
def _mul_(input: Tensor, other: Any) -> Tensor:
    if not is_sparse(input):
        return input.mul_(to_dense(other))
    return _pointwise.into("mul", input, mul(input, other))


@_rule("div", "divide", "true_divide")
def div(input: SparseTensor, other: Any) -> SparseTensor:
    if not is_sparse(input) or (isinstance(other, Tensor) and other.dim() > 0):
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor")
    return _applied(input, lambda data: data / other)


@_rule("div_", "divide_", "true_divide_")
def _div_(input: SparseTensor, other: Any) -> SparseTensor:
    return _pointwise.into("div", input, div(input, other))


@_rule("sum")
def _sum(input: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dim not in (None, ()):
        raise unsupported("sum over dimensions", input)
    return values(input).sum(dtype=dtype)


# ---- products


def multiply(name: str, a: Tensor, b: Tensor) -> Tensor:
    """The product of a matrix of blocks and a dense one, in either order."""
    if not is_sparse(a):
        return multiply(name, _transposed(b), a.t()).t()
    if is_sparse(b):
        raise unsupported(f"{name} of two sparse matrices", a, b)
    if len(a._size) != 2:
        raise RuntimeError(f"{name}: expected a matrix of blocks, got shape {tuple(a._size)}.")
    blocks = grid(a.detach())  # type: ignore[arg-type]
    rows, columns, height, width = blocks._size
    indices = _index.indices_of(blocks)
    _index.places(indices, (rows, columns))  # raises for what is outside
    row, column = indices
    factors = b.reshape(columns, width, b.shape[1]).index_select(0, column)
    products = facula.bmm(values(a), factors)
    total = products.new_zeros((rows, height, b.shape[1])).index_add(0, row, products)
    return total.reshape(rows * height, b.shape[1])


# These end in multiply() above.
for _name in ["mm", "mv", "matmul", "__rmatmul__", "addmm", "addmm_", "addmv", "linear"]:
    for _function in functions_named(_name):
        BLOCK_RULES[_function] = RULES[_function]
