"""Element-wise operations: functions that keep zero, and arithmetic."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import facula
from facula._core import Tensor
from facula.autograd.function import Function
from facula.sparse import _derive, _index
from facula.sparse._convert import applied, to
from facula.sparse._derive import coalesced, in_layout, linear, values_at
from facula.sparse._tensor import (
    COO,
    SparseTensor,
    become,
    is_sparse,
    make,
    requires_grad,
    rule,
    unsupported,
)

# ---- functions of one tensor

KEEP_ZERO = (
    "abs absolute angle arcsin arcsinh arctan arctanh asin asinh atan atanh ceil conj_physical "
    "deg2rad erf erfinv expm1 floor frac isinf isnan isneginf isposinf log1p nan_to_num rad2deg "
    "relu round sgn sign signbit sin sinh sqrt square tan tanh trunc fix"
)


def _register(name: str) -> None:
    function = getattr(facula, name)

    @rule(name)
    def out_of_place(input: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        check_no_out(name, kwargs)
        return applied(input, lambda data: function(data, *args, **kwargs))

    @rule(name + "_")
    def in_place(input: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        return into(name, input, out_of_place(input, *args, **kwargs))


for _name in KEEP_ZERO.split():
    if hasattr(facula, _name):
        _register(_name)


def check_no_out(name: str, kwargs: dict[str, Any]) -> None:
    """Raise for ``out=``, which sparse tensors do not take."""
    if kwargs.pop("out", None) is not None:
        raise NotImplementedError(
            f"{name}: out= is not implemented for sparse tensors. Use the result."
        )


def into(name: str, x: SparseTensor, result: Tensor) -> SparseTensor:
    """Put a result into the tensor of the form in place."""
    if not is_sparse(result) or result.shape != x.shape:
        raise RuntimeError(
            f"{name}_: the result is {result.layout} {tuple(result.shape)} and does not fit in "
            f"place into {x.layout} {tuple(x.shape)}."
        )
    if not facula.can_cast(result.dtype, x.dtype):
        raise RuntimeError(
            f"{name}_: result type {result.dtype} can't be cast to the desired type {x.dtype}."
        )
    return become(x, to(result, x.dtype))  # type: ignore[arg-type]


def _scaled(name: str, x: SparseTensor, by: Callable[[Tensor], Tensor]) -> SparseTensor:
    """``by``, a multiplication by a number, of all values, whose order and places stay."""

    def there(x: SparseTensor) -> SparseTensor:
        return make(x._kind, x._index, by(x._data), x._size, x._flag)

    def back(grad: Any) -> Any:
        if not is_sparse(grad):
            return by(grad)
        return _scaled(name, grad, by)

    result: SparseTensor = linear(name, x, there, back)
    return result


@rule("neg", "negative")
def neg(input: SparseTensor) -> SparseTensor:
    return _scaled("Neg", input, operator.neg)


@rule("neg_", "negative_")
def neg_(input: SparseTensor) -> SparseTensor:
    return into("neg", input, neg(input))


@rule("real")
def real(input: SparseTensor) -> SparseTensor:
    if not input._data.is_complex():
        return input
    return applied(input, facula.real)


@rule("conj")
def conj(input: SparseTensor) -> SparseTensor:
    return applied(input, facula.conj_physical) if input._data.is_complex() else input


@rule("pow", "__pow__")
def pow(input: SparseTensor, exponent: Any) -> SparseTensor:
    if not is_sparse(input) or isinstance(exponent, Tensor):
        raise unsupported("pow", input, exponent)
    if exponent == 0:
        raise RuntimeError(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor "
            "dense"
        )
    return applied(input, lambda data: data**exponent)


@rule("pow_", "__ipow__")
def pow_(input: SparseTensor, exponent: Any) -> SparseTensor:
    return into("pow", input, pow(input, exponent))


# ---- sums


class _Add(Function):
    @staticmethod
    def forward(ctx: Any, a: SparseTensor, b: SparseTensor, alpha: Any) -> SparseTensor:
        ctx.alpha = alpha
        dtype = facula.promote_types(a.dtype, b.dtype)
        size, sizes = a._size, _index.sparse_sizes(a)
        ours, theirs = _index.indices_of(a), _index.indices_of(b)
        values = a._data.to(dtype), (b._data if alpha == 1 else b._data * alpha).to(dtype)
        is_distinct = a._kind is not COO or a._flag
        if is_distinct and ours.shape == theirs.shape and bool((ours == theirs).all()):
            return make(a._kind, a._index, values[0] + values[1], size, b._flag)
        indices, data = facula.cat([ours, theirs], 1), facula.cat(values)
        if a._kind is not COO:
            made = make(COO, (indices,), data, size)
            return _derive.to_compressed(made, a._kind)
        is_coalesced = a._flag and b._flag
        if is_coalesced or all(
            _index.is_rising(_index.places(part, sizes)) for part in (ours, theirs)
        ):
            indices, data = _index.add_up(indices, data, sizes)
        return make(COO, (indices,), data, size, is_coalesced)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        of_b = grad if ctx.alpha == 1 else grad * ctx.alpha
        return grad, of_b, None


_add = _derive.named("Add", _Add)


class _AddToDense(Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, x: SparseTensor, alpha: Any) -> Tensor:
        ctx.alpha = alpha
        dtype = facula.promote_types(dense.dtype, x.dtype)
        # Not clone(): the sum has the usual strides, whatever those of the dense one.
        return _add_in_place(dense.to(dtype).contiguous().clone(), x, alpha)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad, grad if ctx.alpha == 1 else grad * ctx.alpha, None


_add_to_dense = _derive.named("Add", _AddToDense)


def _add_in_place(dense: Tensor, x: SparseTensor, alpha: Any) -> Tensor:
    indices = _index.indices_of(x)
    _index.places(indices, x._size)  # raises for what is outside
    data = x._data.to(dense.dtype)
    if dense.dtype == facula.bool:
        return dense.logical_or_(_derive.to_dense(x.detach()))
    if indices.size(0) == 1:
        return dense.index_add_(0, indices[0], data, alpha=alpha)
    data = data if alpha == 1 else data * alpha
    return dense.index_put_(tuple(indices), data, accumulate=True)


@rule("add")
def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    check_no_out("add", {"out": out})
    if is_sparse(input) and is_sparse(other):
        _check_same_form("add", input, other)
        return _derive.run(_add, input, other, alpha)  # type: ignore[no-any-return]
    if is_sparse(input):
        if not isinstance(other, Tensor) or input._kind is COO:
            raise RuntimeError(
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead, or "
                "to_dense()."
            )
        return add(other if alpha == 1 else other * alpha, input)
    _check_addend("add", input, other)
    return _derive.run(_add_to_dense, input, other, alpha)  # type: ignore[no-any-return]


def _check_addend(name: str, dense: Any, x: SparseTensor) -> None:
    size = tuple(dense.shape) if isinstance(dense, Tensor) else ()
    if size != tuple(x._size):
        raise RuntimeError(
            f"{name}: expected 'self' and 'other' to have same size, but self has size "
            f"{list(size)} while other has size {list(x._size)} (FYI: dense-sparse addition does "
            "not currently support broadcasting)"
        )


def _check_same_form(name: str, a: SparseTensor, b: SparseTensor) -> None:
    if a._kind is not b._kind:
        raise RuntimeError(
            f"{name}: expected tensors of one layout, got {a._kind} and {b._kind}. Convert one of "
            "them with to_sparse() or to_sparse_csr()."
        )
    if tuple(a._size) != tuple(b._size):
        raise RuntimeError(
            f"{name}: expected sizes of 'self' and 'other' to match, but {list(a._size)} != "
            f"{list(b._size)}"
        )
    if a._n_sparse != b._n_sparse:
        raise RuntimeError(
            f"{name}: expected 'self' and 'other' to have same density, but 'self' has "
            f"{a._n_sparse} sparse dimensions while 'other' has {b._n_sparse} sparse "
            "dimensions"
        )


@rule("sub", "subtract")
def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    return add(input, other, alpha=-alpha, out=out)


@rule("rsub", "__rsub__")
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    return add(other, input, alpha=-alpha)


@rule("add_")
def add_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    if is_sparse(input):
        return into("add", input, add(input, other, alpha=alpha))
    _check_addend("add_", input, other)
    if requires_grad(other):
        return input.add_(_derive.to_dense(other), alpha=alpha)
    if not facula.can_cast(other.dtype, input.dtype):
        raise RuntimeError(
            f"add_: result type {other.dtype} can't be cast to the desired type {input.dtype}."
        )
    return _add_in_place(input, other, alpha)


@rule("sub_", "subtract_")
def sub_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    return add_(input, other, alpha=-alpha)


# ---- products


class _Mul(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> SparseTensor:
        ctx.save_for_backward(a, b)
        return _product(*_by_places(a, b))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        a, b = ctx.saved_tensors
        needs_a, needs_b = ctx.needs_input_grad
        return (
            grad * b.conj() if needs_a else None,
            grad * a.conj() if needs_b else None,
        )


_mul = _derive.named("Mul", _Mul)


def _by_places(a: Any, b: Any) -> tuple[SparseTensor, Tensor]:
    """The factor whose places the product has comes first: that with duplicates, or the shorter."""
    if not is_sparse(a):
        return b, a
    if not is_sparse(b) or a._kind is not COO:
        return a, b
    is_first = (a._flag, a._data.size(0)) <= (b._flag, b._data.size(0))
    return (a, b) if is_first else (b, a)


def _product(x: SparseTensor, other: Tensor) -> SparseTensor:
    indices = _index.indices_of(x)
    if not is_sparse(other):
        if facula.broadcast_shapes(other.shape, x._size) != x._size:
            raise RuntimeError(
                f"mul: expected a dense tensor that broadcasts to the sparse one, of shape "
                f"{tuple(x._size)}, got {tuple(other.shape)}."
            )
        data = x._data * _values_of_expanded(other, indices, x)
        return make(x._kind, x._index, data, x._size, x._flag)
    once = coalesced(_derive.to_coo(other))
    if not x._flag and x._kind is COO:
        return make(COO, x._index, x._data * values_at(once, indices), x._size)
    # Places of both alone.
    sizes = _index.sparse_sizes(x)
    where, is_there = _index.found(
        _index.places(indices, sizes), _index.places(once._index[0], sizes)
    )
    kept = is_there.nonzero().reshape(-1)
    data = x._data.index_select(0, kept) * once._data.index_select(0, where.index_select(0, kept))
    made = make(COO, (indices.index_select(1, kept),), data, x._size, True)
    return made if x._kind is COO else _derive.to_compressed(made, x._kind)


def _values_of_expanded(dense: Tensor, indices: Tensor, x: SparseTensor) -> Tensor:
    """``values_at(dense.expand(x.shape), indices)`` without the copy of an expanded tensor."""
    n = indices.size(0)
    dense = dense.reshape([1] * (len(x._size) - dense.dim()) + list(dense.shape))
    sizes = dense.shape[:n]
    kept = [row * (size > 1) for row, size in zip(indices, sizes, strict=True)]
    return values_at(dense, facula.stack(kept) if kept else indices)


@rule("mul", "multiply", "__rmul__")
def mul(input: Any, other: Any, *, out: Any = None) -> Tensor:
    check_no_out("mul", {"out": out})
    if not is_sparse(input):
        input, other = other, input
        return _mul_sparse(input, other, is_swapped=True)
    return _mul_sparse(input, other, is_swapped=False)


def _mul_sparse(x: SparseTensor, other: Any, *, is_swapped: bool) -> Tensor:
    if is_sparse(other):
        other = in_layout(other, x._kind)
        _check_same_form("mul", x, other)
    elif not isinstance(other, Tensor) or (other.dim() == 0 and not requires_grad(other)):
        return _scaled("Mul", x, lambda data: data * other)
    elif other.dim() == 0:
        return applied(x, lambda data: data * other)
    pair = (other, x) if is_swapped else (x, other)
    return _derive.run(_mul, *pair)  # type: ignore[no-any-return]


@rule("mul_", "multiply_")
def mul_(input: Tensor, other: Any) -> Tensor:
    if is_sparse(input):
        return into("mul", input, mul(input, other))
    return input.mul_(_derive.to_dense(other))


@rule("div", "divide", "true_divide")
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:
    check_no_out("div", {"out": out})
    if isinstance(other, Tensor) and (other.dim() > 0 or is_sparse(other)):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(other.shape)} for divisor)"
        )
    if rounding_mode is not None:
        divide = partial(facula.div, rounding_mode=rounding_mode)
        return applied(input, lambda data: divide(data, other))
    if requires_grad(other):
        return applied(input, lambda data: data / other)
    return _scaled("Div", input, lambda data: data / other)


@rule("__rtruediv__", "reciprocal")
def _reciprocal(input: SparseTensor, *args: Any) -> Tensor:
    raise unsupported("reciprocal", input)


@rule("div_", "divide_", "true_divide_")
def div_(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    return into("div", input, div(input, other, rounding_mode=rounding_mode))  # type: ignore[arg-type]


@rule("floor_divide", "__floordiv__")
def floor_divide(input: Any, other: Any) -> Tensor:
    return div(input, other, rounding_mode="floor")


@rule("floor_divide_", "__ifloordiv__")
def floor_divide_(input: Tensor, other: Any) -> Tensor:
    return div_(input, other, rounding_mode="floor")
