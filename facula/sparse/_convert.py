"""Parts and forms of a sparse tensor: indices, values, layouts, dtypes, devices, copies."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import facula
from facula import _core, _utils
from facula._core import Size, Tensor
from facula.autograd._backward import backward as run_backward
from facula.sparse import _derive
from facula.sparse._derive import coalesced, linear, unchanged, with_values
from facula.sparse._tensor import (
    BSC,
    BSR,
    COO,
    CSC,
    CSR,
    LAYOUT_NAMES,
    RULES,
    SparseTensor,
    become,
    check_layout,
    is_sparse,
    make,
    part,
    rule,
    unsupported,
)

# ---- parts


@part("indices")
def indices(input: SparseTensor) -> Tensor:
    if input._kind is not COO:
        check_layout("indices", input, COO)
    if not input._flag:
        raise _not_coalesced("indices")
    return input._index[0].detach()


@part("values")
def values(input: SparseTensor) -> Tensor:
    if not input._flag and input._kind is COO:
        raise _not_coalesced("values")
    return _derive.values(input)


def _not_coalesced(name: str) -> RuntimeError:
    return RuntimeError(
        f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
    )


@rule("_indices")
def _indices(input: SparseTensor) -> Tensor:
    if input._kind is not COO:
        raise unsupported("_indices", input)
    return input._index[0].detach()


@rule("_values")
def _values(input: SparseTensor) -> Tensor:
    if input._kind is not COO:
        raise unsupported("_values", input)
    return input._data.detach()


@part("_nnz")
def _nnz(input: SparseTensor) -> int:
    return len(input._data)


@part("is_coalesced")
def is_coalesced(input: SparseTensor) -> bool:
    if input._kind is not COO:
        check_layout("is_coalesced", input, COO)
    return input._flag


@rule("_coalesced_")
def _coalesced_(input: SparseTensor, coalesced: bool) -> SparseTensor:
    check_layout("_coalesced_", input, COO)
    input._flag = coalesced
    return input


@rule("coalesce")
def coalesce(input: SparseTensor) -> SparseTensor:
    check_layout("coalesce", input, COO)
    return coalesced(input)


@part("sparse_dim")
def sparse_dim(input: SparseTensor) -> int:
    return input._n_sparse


@part("dense_dim")
def dense_dim(input: SparseTensor) -> int:
    return len(input._size) - input._n_sparse


def _compressed_part(name: str, layouts: tuple[_core.layout, ...], i: int) -> None:
    @part(name)
    def index(input: SparseTensor) -> Tensor:
        if input._kind not in layouts:
            check_layout(name, input, *layouts)
        return input._index[i].detach()


for _i, (_row, _column) in enumerate(
    [("crow_indices", "ccol_indices"), ("col_indices", "row_indices")]
):
    _compressed_part(_row, (CSR, BSR), _i)
    _compressed_part(_column, (CSC, BSC), _i)


# ---- layouts


@rule("to_dense")
def to_dense(input: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    if dtype is not None:
        raise RuntimeError(
            "to_dense: dtype argument is not supported for sparse tensors. Convert the result with "
            "to(dtype)."
        )
    return _derive.to_dense(input, masked_grad)


@rule("to_sparse")
def to_sparse(
    input: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: _core.layout | None = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> SparseTensor:
    if layout is not None:
        if sparse_dim is not None:
            raise RuntimeError("to_sparse: give sparse_dim or layout, not both.")
        if layout in (BSR, BSC):
            from facula.sparse import _blocks

            return _blocks.to_blocks(input, layout, blocksize, dense_dim)
        if layout not in (COO, CSR, CSC):
            raise RuntimeError(f"to_sparse: expected a sparse layout, got {layout}.")
    if blocksize is not None:
        raise RuntimeError("to_sparse: blocksize is for the layouts sparse_bsr and sparse_bsc.")
    layout = layout or COO
    if is_sparse(input):
        return _derive.in_layout(input, layout)  # type: ignore[no-any-return]
    n = input.dim() if sparse_dim is None else sparse_dim
    if dense_dim:
        n = input.dim() - dense_dim
    if not (0 <= n <= input.dim()) or (n == 0 and input.dim() > 0):
        raise RuntimeError(
            f"to_sparse: sparse_dim argument must be in [1, {input.dim()}] range, but {n} is given."
        )
    if layout is not COO and n != 2:
        raise RuntimeError(
            f"to_sparse: layout {layout} is for tensors of two sparse dimensions, got a tensor of "
            f"shape {tuple(input.shape)}."
        )
    return _derive.from_dense(input, layout, n)


@rule("to_sparse_coo")
def to_sparse_coo(input: Tensor) -> SparseTensor:
    return to_sparse(input)


@rule("to_sparse_csr")
def to_sparse_csr(input: Tensor, dense_dim: int | None = None) -> SparseTensor:
    return to_sparse(input, layout=CSR, dense_dim=dense_dim)


@rule("to_sparse_csc")
def to_sparse_csc(input: Tensor, dense_dim: int | None = None) -> SparseTensor:
    return to_sparse(input, layout=CSC, dense_dim=dense_dim)


@rule("to_sparse_bsr")
def to_sparse_bsr(input: Tensor, blocksize: Any, dense_dim: int | None = None) -> SparseTensor:
    return to_sparse(input, layout=BSR, blocksize=blocksize, dense_dim=dense_dim)


@rule("to_sparse_bsc")
def to_sparse_bsc(input: Tensor, blocksize: Any, dense_dim: int | None = None) -> SparseTensor:
    return to_sparse(input, layout=BSC, blocksize=blocksize, dense_dim=dense_dim)


@rule("sparse_mask")
def sparse_mask(input: Tensor, mask: SparseTensor) -> SparseTensor:
    if not is_sparse(mask):
        raise RuntimeError("sparse_mask: expected a sparse tensor as the mask.")
    if tuple(input.shape) != tuple(mask._size):
        raise RuntimeError(
            f"sparse_mask: operands have incompatible sizes; self has size {tuple(input.shape)} "
            f"but mask has size {tuple(mask._size)}"
        )
    if not is_sparse(input):
        return _derive.masked(input, mask)
    mask = mask.detach()  # type: ignore[assignment]

    def back(grad: Tensor) -> Tensor:
        return grad if is_sparse(grad) else _derive.masked(grad, _derive.distinct(mask))

    result: SparseTensor = linear("SparseMask", input, lambda x: _derive.masked(x, mask), back)
    return result


# ---- dtypes and devices


def _converted(x: SparseTensor, data: Tensor) -> SparseTensor:
    if data is x._data:
        return x
    dtype, device = x.dtype, x.device

    def there(x: SparseTensor) -> SparseTensor:
        index = [part.to(data.device) for part in x._index]
        return make(x._kind, index, data, x._size, x._flag)

    result: SparseTensor = linear("ToCopy", x, there, lambda g: g.to(device, dtype))
    return result


@rule("to")
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    args = tuple(arg._data if is_sparse(arg) else arg for arg in args)
    kwargs = {name: v._data if is_sparse(v) else v for name, v in kwargs.items()}
    if not is_sparse(input):
        return input.to(*args, **kwargs)
    return _converted(input, input._data.to(*args, **kwargs))


def _conversion(name: str) -> None:
    @rule(name)
    def convert(input: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        return _converted(input, getattr(input._data, name)(*args, **kwargs))


_CONVERSIONS = """
float double half bfloat16 int long short char byte bool cfloat cdouble cpu cuda
"""
for _name in _CONVERSIONS.split():
    _conversion(_name)


@rule("type_as")
def type_as(input: Tensor, other: Tensor) -> Tensor:
    return to(input, other.dtype)


@rule("type")
def type_(input: SparseTensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    if dtype is not None:
        return to(input, getattr(dtype, "dtype", dtype))
    if input._kind is not COO:
        raise unsupported("type", input)
    module, _, name = str(input._data.type()).rpartition(".")
    return f"{module}.sparse.{name}"


# ---- copies


@rule("clone")
def clone(input: SparseTensor, *, memory_format: Any = None) -> SparseTensor:
    def there(x: SparseTensor) -> SparseTensor:
        return make(x._kind, [p.clone() for p in x._index], x._data.clone(), x._size, x._flag)

    result: SparseTensor = linear("Clone", input, there, unchanged)
    return result


@rule("detach", "data")
def detach(input: SparseTensor) -> SparseTensor:
    return make(input._kind, input._index, input._data, input._size, input._flag)


@rule("tensor")
def tensor(data: Any, *, dtype: Any = None, device: Any = None, **kwargs: Any) -> Tensor:
    if not is_sparse(data):
        raise unsupported("tensor", data)
    return (
        clone(detach(data))
        .to(dtype=dtype, device=device)
        .requires_grad_(kwargs.get("requires_grad", False))
    )


@rule("as_tensor", "asarray")
def as_tensor(data: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> Tensor:
    if not is_sparse(data):
        raise unsupported("as_tensor", data)
    return to(data, dtype=dtype, device=device)


def _set_data(input: SparseTensor, value: SparseTensor) -> None:
    if not is_sparse(value) or not is_sparse(input):
        raise RuntimeError(
            "data: a sparse tensor and a dense one cannot take each other's place. Make a new "
            "tensor with to_sparse() or to_dense()."
        )
    with facula.no_grad():
        become(input, value)


RULES[Tensor.data.__set__] = _set_data  # type: ignore[attr-defined]


@rule("copy_")
def copy_(input: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    if not (is_sparse(input) and is_sparse(src)):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Convert one of them with "
            "to_dense() or to_sparse()."
        )
    if input._kind is not src._kind or input._size != src._size:
        raise RuntimeError(
            f"copy_: expected a tensor of layout {input.layout} and shape {tuple(input.shape)}, "
            f"got one of layout {src.layout} and shape {tuple(src.shape)}."
        )
    return become(input, clone(to(src, input.device, input.dtype)))  # type: ignore[arg-type]


def empty(
    layout: _core.layout, size: Any, n_sparse: int, dtype: Any = None, device: Any = None
) -> SparseTensor:
    """A sparse tensor without values."""
    options = {"dtype": facula.int64, "device": device}
    data = facula.empty((0, *size[n_sparse:]), dtype=dtype, device=device)
    if layout is COO:
        return make(COO, [facula.empty((n_sparse, 0), **options)], data, size, True)
    n_outer = size[0] if layout is CSR else size[1]
    index = [facula.zeros(n_outer + 1, **options), facula.empty(0, **options)]
    return make(layout, index, data, size)


@rule("zeros_like", "empty_like")
def zeros_like(
    input: SparseTensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **kwargs: Any,
) -> Tensor:
    dtype, device = dtype or input.dtype, device or input.device
    if layout is _core.strided:
        return facula.zeros(input._size, dtype=dtype, device=device, requires_grad=requires_grad)
    made = empty(layout or input._kind, input._size, input._n_sparse, dtype, device)
    return made.requires_grad_(requires_grad)


@rule("zero_")
def zero_(input: SparseTensor) -> SparseTensor:
    n = input._n_sparse
    return become(input, empty(input._kind, input._size, n, input.dtype, input.device))


@rule("sparse_resize_")
def sparse_resize_(input: SparseTensor, size: Any, sparse_dim: int, dense_dim: int) -> SparseTensor:
    check_layout("sparse_resize_", input, COO)
    _check_resize("sparse_resize_", size, sparse_dim, dense_dim)
    before, n = tuple(input._size), input._n_sparse
    if input._data.size(0) == 0:
        return sparse_resize_and_clear_(input, size, sparse_dim, dense_dim)
    is_larger = all(new >= old for new, old in zip(size, before, strict=False))
    if sparse_dim != n or dense_dim != len(before) - n or not is_larger:
        raise RuntimeError(
            f"sparse_resize_: a tensor with values keeps its sparse and dense dimensions and can "
            f"only grow, from {before} to {tuple(size)} it cannot. Use sparse_resize_and_clear_."
        )
    data = input._data.new_zeros((input._data.size(0), *size[n:]))
    data[tuple(slice(length) for length in input._data.shape)] = input._data
    return become(input, make(COO, input._index, data, size, input._flag))


@rule("sparse_resize_and_clear_")
def sparse_resize_and_clear_(
    input: SparseTensor, size: Any, sparse_dim: int, dense_dim: int
) -> SparseTensor:
    check_layout("sparse_resize_and_clear_", input, COO)
    _check_resize("sparse_resize_and_clear_", size, sparse_dim, dense_dim)
    return become(input, empty(COO, tuple(size), sparse_dim, input.dtype, input.device))


def _check_resize(name: str, size: Any, sparse_dim: int, dense_dim: int) -> None:
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            f"{name}: 'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )


@rule("__deepcopy__")
def _deepcopy(input: SparseTensor, memo: dict[int, Any]) -> Any:
    if not input.is_leaf:
        raise RuntimeError(
            "deepcopy: only tensors made by the user (leaves of the graph) can be deep-copied. "
            "Use detach() or clone() for a result of operations."
        )
    if id(input) not in memo:
        made: Any = clone(detach(input)).requires_grad_(input.requires_grad)
        memo[id(input)] = made
        if is_parameter(input):
            made._is_param = True
        if input.grad is not None:
            made.grad = copy.deepcopy(input.grad, memo)
    return memo[id(input)]


@rule("__reduce_ex__")
def _reduce_ex(input: SparseTensor, protocol: int) -> Any:
    if is_parameter(input):
        no_hooks: OrderedDict[int, Any] = OrderedDict()
        return _utils._rebuild_parameter, (detach(input), input.requires_grad, no_hooks)
    parts: tuple[Any, ...] = (*input._index, input._data, Size(input._size))
    if input._kind is COO:
        parts += (input._flag,)
    return _utils._rebuild_sparse_tensor, (input._kind, parts)


def is_parameter(x: SparseTensor) -> bool:
    """Whether the tensor is what ``nn.Parameter`` made of a sparse one."""
    return getattr(x, "_is_param", False) is True


# ---- numbers, and other libraries


@rule("item")
def item(input: SparseTensor) -> Any:
    if input._size.numel() != 1:
        raise RuntimeError(
            f"a Tensor with {input._size.numel()} elements cannot be converted to Scalar"
        )
    return to_dense(input.detach()).item()


@rule("__bool__", "is_nonzero")
def _bool(input: SparseTensor) -> bool:
    if input._size.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(item(input))


@rule("__float__")
def _float(input: SparseTensor) -> float:
    return float(item(input))


@rule("__int__")
def _int(input: SparseTensor) -> int:
    return int(item(input))


@rule("numpy", "__array__")
def _numpy(input: SparseTensor, *args: Any, **kwargs: Any) -> Any:
    raise TypeError(
        f"can't convert {LAYOUT_NAMES[input._kind]} layout tensor to numpy. Use Tensor.to_dense() "
        "first."
    )


@rule("__dlpack__", "__dlpack_device__")
def _dlpack(input: SparseTensor, *args: Any, **kwargs: Any) -> Any:
    raise BufferError(
        "Can't export tensors with layout other than torch.strided. Use Tensor.to_dense() first."
    )


def _check_has(what: str, input: SparseTensor) -> None:
    if input._kind is not COO:
        kind = LAYOUT_NAMES[input._kind].removeprefix("Sparse").upper()
        raise RuntimeError(
            f"Sparse {kind} tensors do not have {what}. Those of values() are the ones in memory."
        )


@rule("stride")
def stride(input: SparseTensor, dim: int | None = None) -> Any:
    _check_has("strides", input)
    return facula.zeros(()).expand(input._size).stride(*(() if dim is None else (dim,)))


@rule("is_contiguous")
def is_contiguous(input: SparseTensor, *args: Any, **kwargs: Any) -> bool:
    _check_has("is_contiguous", input)
    return False


@rule("is_pinned", "is_shared", "is_conj", "is_neg")
def _is_not(input: SparseTensor, *args: Any, **kwargs: Any) -> bool:
    return False


@rule("resolve_conj", "resolve_neg", "positive")
def _itself(input: SparseTensor) -> SparseTensor:
    return input


@rule("backward")
def backward(
    input: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    run_backward(input, gradient, retain_graph, create_graph, inputs=inputs)


def applied(x: SparseTensor, function: Any) -> SparseTensor:
    """The function, which keeps zero, of every element."""
    x = coalesced(x)
    return with_values(x, function(_derive.values(x)))
