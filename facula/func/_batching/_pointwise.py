"""Operations on single elements: the examples are one more dimension to broadcast over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._transform import tensors_in
from facula.func._batching._batch import RULES, Batch, check_writable, rule

# Names that no row of a table has, or that have other ones beside that of the row.
_OTHERS = """
    absolute abs add angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh clamp clamp_max
    clamp_min clip complex conj copysign div divide fill fix float_power greater greater_equal
    heaviside imag isreal ldexp lerp less less_equal logit multiply mvlgamma
    nan_to_num negative not_equal polar polygamma positive pow real resolve_conj resolve_neg
    round rsub special_polygamma square sub subtract true_divide where _conj _cross _neg_view

    __abs__ __add__ __and__ __eq__ __floordiv__ __ge__ __gt__ __invert__ __le__ __lshift__ __lt__
    __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __radd__ __rand__ __rfloordiv__
    __rlshift__ __rmod__ __rmul__ __ror__ __rpow__ __rrshift__ __rshift__ __rsub__ __rtruediv__
    __rxor__ __sub__ __truediv__ __xor__ __rdiv__
"""
_IN_PLACE_SLOTS = """
    __iadd__ __iand__ __ifloordiv__ __ilshift__ __imod__ __imul__ __ior__ __ipow__ __irshift__
    __isub__ __itruediv__ __ixor__
"""


def aligned(batch: Batch, x: Any, n_dims: int) -> Any:
    """All examples of ``x``, as if one had ``n_dims`` dimensions; other values as they are."""
    if not batch.has(x):
        return x
    physical = batch.lower(x)
    missing = n_dims + 1 - int(physical.dim())
    if missing <= 0:
        return physical
    return physical.reshape(batch.size, *(1,) * missing, *physical.shape[1:])


def pointwise(batch: Batch, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The rule of any operation on single elements, with any number of tensors."""
    if len(args) == 1 and not kwargs:
        return batch.wrap(func(args[0].physical))
    values = (*args, *kwargs.values())
    tensors = list(tensors_in(values))
    n_dims = max(int(x.dim()) for x in tensors)
    if len(tensors) > 1 and any(x.dtype is not tensors[0].dtype for x in tensors):
        args, kwargs = _promoted(batch, args, kwargs, n_dims)
    lowered = [aligned(batch, x, n_dims) for x in args]
    named = {name: aligned(batch, x, n_dims) for name, x in kwargs.items()}
    return batch.wrap(func(*lowered, **named))


def _promoted(
    batch: Batch, args: tuple[Any, ...], kwargs: dict[str, Any], n_dims: int
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with numbers in tensors cast to the dtype that they count as among others.

    A tensor without dimensions weighs as little as a Python number. With the examples beside each
    other it would have a dimension, and weigh as much as any.
    """
    if n_dims == 0:
        # All weigh the same: those that the examples share get a dimension as well.
        def with_dim(x: Any) -> Any:
            return x.reshape(1) if isinstance(x, Tensor) and not batch.has(x) else x

        return tuple(map(with_dim, args)), {name: with_dim(x) for name, x in kwargs.items()}
    large = [x for x in tensors_in((*args, *kwargs.values())) if x.dim() > 0]

    def cast(x: Any) -> Any:
        if not (batch.has(x) and x.dim() == 0) or x.dtype is _core.bool:
            return x
        dtype = x.dtype
        for other in large:
            dtype = _core.result_type(_core.empty((), dtype=dtype), other)
        return x if dtype is x.dtype else batch.wrap(batch.lower(x).to(dtype))

    return tuple(map(cast, args)), {name: cast(x) for name, x in kwargs.items()}


def in_place(batch: Batch, func: Callable[..., Any], x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The rule of the same operations where they write to their first argument."""
    check_writable(batch, func, (x,))
    n_dims = int(x.dim())
    lowered = [aligned(batch, a, n_dims) for a in args]
    func(batch.lower(x), *lowered, **{k: aligned(batch, a, n_dims) for k, a in kwargs.items()})
    return x


@rule("masked_fill")
def masked_fill(batch: Batch, func: Callable[..., Any], x: Tensor, mask: Tensor, value: Any) -> Any:
    if not batch.has(value):
        n_dims = max(int(x.dim()), int(mask.dim()))
        return batch.wrap(func(aligned(batch, x, n_dims), aligned(batch, mask, n_dims), value))
    filled = batch.lower(value).to(x.dtype)
    return pointwise(batch, _core.where, mask, batch.wrap(filled), x)


@rule("masked_fill_")
def masked_fill_(
    batch: Batch, func: Callable[..., Any], x: Tensor, mask: Tensor, value: Any
) -> Any:
    check_writable(batch, func, (x,))
    if batch.has(value):
        batch.lower(x).copy_(masked_fill(batch, func, x, mask, value).physical)
        return x
    return in_place(batch, func, x, mask, value)


@rule("frexp")
def frexp(batch: Batch, func: Callable[..., Any], x: Tensor) -> Any:
    return batch.wrap_all(func(batch.lower(x)))


@rule("prelu")
def prelu(batch: Batch, func: Callable[..., Any], x: Tensor, weight: Tensor) -> Any:
    n_dims = int(x.dim())
    n_channels = int(weight.numel())
    # As channels lie in x: its second dimension, or the first of a vector.
    form = [1] * n_dims
    if n_dims:
        form[min(1, n_dims - 1)] = n_channels
    slopes = batch.lower(weight).reshape((*([batch.size] if batch.has(weight) else []), *form))
    values = batch.lower(x)
    return batch.wrap(_core.where(values > 0, values, slopes * values))


def _add_all() -> None:
    names = [name for table, name in _core._rows() if table != "loss"] + _OTHERS.split()
    names += [f"_{name}" for name in names if name.startswith("special_")]
    names += ["_dirichlet_grad", "_standard_gamma_grad"]
    for name in names:
        RULES.setdefault(name, pointwise)
        if not name.startswith("__"):
            RULES.setdefault(name + "_", in_place)
    for name in (*_IN_PLACE_SLOTS.split(), "copy_", "zero_"):
        RULES[name] = in_place


_add_all()
