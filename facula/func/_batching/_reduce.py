"""Operations along dimensions: those of an example lie one further back than it knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._transform import map_tensors
from facula.func._batching._batch import RULES, Batch, loop_quietly, rule
from facula.func._batching._pointwise import pointwise

_Function = Callable[..., Any]


def shifted(name: str, dim: Any, n_dims: int) -> Any:
    """The dimension, or several, of an example as dimensions of the batch."""
    if isinstance(dim, (tuple, list)):
        return [shifted(name, d, n_dims) for d in dim]
    n = max(n_dims, 1)
    index = dim.__index__()
    if not -n <= index < n:
        raise IndexError(
            f"{name}: Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got "
            f"{index}) inside of vmap."
        )
    return index % n + 1


def with_dim(batch: Batch, x: Tensor) -> tuple[Tensor, bool]:
    """All examples with at least one dimension each, and whether one had to be added."""
    physical = batch.lower(x)
    is_number = physical.dim() == 1
    return (physical.unsqueeze(-1), True) if is_number else (physical, False)


def finished(batch: Batch, result: Any, is_number: bool) -> Any:
    """The result as examples, without the dimension that ``with_dim`` added."""
    if is_number:
        result = map_tensors(lambda y: y.squeeze(1) if y.dim() > 1 else y, result)
    return batch.wrap_all(result)


# ---- reductions over one dimension, several or all


@rule("logsumexp", "std", "var", "std_mean", "var_mean")
def reduction(
    batch: Batch, func: _Function, x: Tensor, dim: Any = None, *args: Any, **kwargs: Any
) -> Any:
    if isinstance(dim, bool):  # std(unbiased)
        kwargs["unbiased"], dim = dim, None
    physical, is_number = with_dim(batch, x)
    n_dims = int(physical.dim()) - 1
    if dim is None or (isinstance(dim, (tuple, list)) and len(dim) == 0):
        dims: Any = list(range(1, n_dims + 1))
    elif isinstance(dim, int) and args and isinstance(args[0], int) and type(args[0]) is not bool:
        dims, args = shifted(func.__name__, [dim, *args], n_dims), ()  # x.sum(0, 1)
    else:
        dims = shifted(func.__name__, dim, n_dims)
    result = func(physical, dims, *args, **kwargs)
    keeps = kwargs.get("keepdim", bool(args) and args[-1] is True)
    return finished(batch, result, is_number and keeps)


@rule("norm")
def norm(
    batch: Batch, func: _Function, x: Tensor, p: Any = "fro", dim: Any = None, *args: Any,
    **kwargs: Any,
) -> Any:  # fmt: skip
    if p == "nuc":
        return loop_quietly(batch, func, x, p, dim, *args, **kwargs)
    return _norm(batch, func, x, 2 if p in ("fro", None) else p, dim, *args, **kwargs)


@rule("_linalg_vector_norm", "linalg_vector_norm", "vector_norm")
def _norm(
    batch: Batch, func: _Function, x: Tensor, ord: Any = 2, dim: Any = None, *args: Any,
    **kwargs: Any,
) -> Any:  # fmt: skip
    physical, is_number = with_dim(batch, x)
    n_dims = int(physical.dim()) - 1
    dims = (
        list(range(1, n_dims + 1))
        if dim is None or dim in ([], ())
        else shifted("norm", dim, n_dims)
    )
    result = func(physical, ord, dims, *args, **kwargs)
    return finished(batch, result, is_number and kwargs.get("keepdim", bool(args) and args[0]))


# ---- over one dimension, or over all elements in a row


@rule("argmax", "argmin", "prod", "median", "nanmedian", "max", "min")
def over_one(
    batch: Batch, func: _Function, x: Tensor, dim: Any = None, *args: Any, **kwargs: Any
) -> Any:
    if isinstance(dim, Tensor) or isinstance(kwargs.get("other"), Tensor):  # max(x, other)
        return pointwise(batch, func, x, *([] if dim is None else [dim]), *args, **kwargs)
    physical, is_number = with_dim(batch, x)
    n_dims = int(physical.dim()) - 1
    if dim is not None:
        result = func(physical, shifted(func.__name__, dim, n_dims), *args, **kwargs)
        keeps = kwargs.get("keepdim", bool(args) and args[0])
        return finished(batch, result, is_number and keeps)
    keeps = kwargs.pop("keepdim", bool(args) and args[0])
    result = func(physical.flatten(1), 1, **kwargs)
    if isinstance(result, tuple):  # the value, as max() without dim gives it
        result = result[0]
    elif keeps:
        result = result.reshape(batch.size, *(1,) * int(x.dim()))
    return batch.wrap(result)


@rule("aminmax")
def aminmax(
    batch: Batch, func: _Function, x: Tensor, *, dim: Any = None, keepdim: bool = False
) -> Any:
    physical, is_number = with_dim(batch, x)
    if dim is None:
        result = func(physical.flatten(1), dim=1)
        if keepdim:
            form = (batch.size, *(1,) * int(x.dim()))
            result = type(result)([y.reshape(form) for y in result])
        return batch.wrap_all(result)
    dim = shifted("aminmax", dim, int(physical.dim()) - 1)
    return finished(batch, func(physical, dim=dim, keepdim=keepdim), is_number and keepdim)


@rule("quantile", "nanquantile")
def quantile(
    batch: Batch, func: _Function, x: Tensor, q: Any, dim: Any = None, keepdim: bool = False,
    **kwargs: Any,
) -> Any:  # fmt: skip
    if batch.has(q) or not batch.has(x) or (x.dim() == 0 and keepdim):
        return loop_quietly(batch, func, x, q, dim, keepdim, **kwargs)
    physical, _ = with_dim(batch, x)
    if dim is None:
        result = func(physical.flatten(1), q, 1, **kwargs)
    else:
        place = shifted("quantile", dim, int(physical.dim()) - 1)
        result = func(physical, q, place, keepdim, **kwargs)
    if isinstance(q, Tensor) and q.dim() == 1:  # the quantiles come first
        result = result.movedim(0, 1)
    if keepdim and dim is None:
        result = result.reshape((*result.shape, *(1,) * int(x.dim())))
    return batch.wrap(result)


# ---- along a dimension: the parameters after the tensor, with defaults; those named dim count from
# the front of an example

_ALONG = {
    "argsort": "dim=-1",
    "chunk": "chunks dim=0",
    "cummax": "dim",
    "cummin": "dim",
    "cumprod": "dim",
    "cumsum": "dim",
    "diagonal": "offset=0 dim1=0 dim2=1",
    "flip": "dims",
    "glu": "dim",
    "kthvalue": "k dim=-1",
    "log_softmax": "dim",
    "logcumsumexp": "dim",
    "mode": "dim=-1",
    "movedim": "dim_source dim_destination",
    "moveaxis": "dim_source dim_destination",
    "narrow": "dim start length",
    "select": "dim index",
    "softmax": "dim",
    "sort": "dim=-1",
    "split": "split_size_or_sections dim=0",
    "split_with_sizes": "split_sizes dim=0",
    "swapaxes": "dim0 dim1",
    "swapdims": "dim0 dim1",
    "topk": "k dim=-1",
    "transpose": "dim0 dim1",
    "unbind": "dim=0",
    "unfold": "dimension size step",
    "unsafe_chunk": "chunks dim=0",
    "unsafe_split": "split_size_or_sections dim=0",
    "unsafe_split_with_sizes": "split_sizes dim=0",
}
# Names that parameters are called by, where they are not those above.
_CALLED = {"dim_source": "source", "dim_destination": "destination"}


def along(parameters: str, writes: bool = False) -> Callable[..., Any]:
    """The rule of an operation whose parameters after the tensor are these."""
    parsed = []
    for text in parameters.split():
        name, _, default = text.partition("=")
        parsed.append(
            (_CALLED.get(name, name), name.startswith("dim"), int(default) if default else None)
        )

    def along_rule(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not batch.has(x) or any(batch.has(a) for a in args):
            return loop_quietly(batch, func, x, *args, **kwargs)
        physical, is_number = with_dim(batch, x)
        n_dims = int(physical.dim()) - 1
        if len(parsed) == 1 and len(args) > 1 and parsed[0][0] == "dims":  # x.flip(0, 1)
            args = (args,)
        given = list(args)
        for i, (name, is_dim, default) in enumerate(parsed):
            if not is_dim:
                continue
            if i < len(given):
                given[i] = shifted(func.__name__, given[i], n_dims)
            elif name in kwargs:
                kwargs[name] = shifted(func.__name__, kwargs[name], n_dims)
            elif default is not None:
                kwargs[name] = shifted(func.__name__, default, n_dims)
        result = func(physical, *given, **kwargs)
        if not writes:
            return finished(batch, result, is_number)
        return x

    return along_rule


@rule("roll")
def roll(batch: Batch, func: _Function, x: Tensor, shifts: Any, dims: Any = None) -> Any:
    physical, is_number = with_dim(batch, x)
    if dims is None or dims == ():
        return batch.wrap(func(physical.flatten(1), shifts, 1).reshape(batch.lower(x).shape))
    dims = shifted("roll", dims, int(physical.dim()) - 1)
    return finished(batch, func(physical, shifts, dims), is_number)


@rule("msort")
def msort(batch: Batch, func: _Function, x: Tensor) -> Any:
    physical, is_number = with_dim(batch, x)
    return finished(batch, _core.sort(physical, 1)[0], is_number)


def _add_all() -> None:
    for name, *_ in _core._reduce_rows():
        RULES[name] = reduction
    for name, parameters in _ALONG.items():
        RULES[name] = along(parameters)
    for name in ("cumsum_", "cumprod_"):
        RULES[name] = along("dim", writes=True)


_add_all()
