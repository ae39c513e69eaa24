"""Operations on shapes and memory: sizes get the number of examples in front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._transform import name_of
from facula.func._batching._batch import RULES, Batch, loop_quietly, rule
from facula.func._batching._pointwise import aligned
from facula.func._batching._reduce import shifted, with_dim

_Function = Callable[..., Any]


def sizes_in(args: tuple[Any, ...]) -> tuple[int, ...]:
    """The sizes given as f(2, 3) or f((2, 3))."""
    if len(args) == 1 and isinstance(args[0], Sequence):
        return tuple(args[0])
    return args


# ---- what does the same for any number of dimensions in front

_TRAILING = """
    adjoint constant_pad_nd mH.__get__ mT.__get__ pixel_shuffle pixel_unshuffle tril triu
    view_as_complex view_as_real data.__get__ real.__get__ imag.__get__
    detach one_hot _one_hot
"""


def trailing(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    if not batch.has(x) or any(batch.has(a) for a in args):
        return loop_quietly(batch, func, x, *args, **kwargs)
    return batch.wrap_all(func(batch.lower(x), *args, **kwargs))


for _name in _TRAILING.split():
    RULES[_name] = trailing


@rule("tril_", "triu_", "requires_grad_", "detach_", "retain_grad", "_bump_version")
def trailing_in_place(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    result = func(batch.lower(x), *args, **kwargs)
    return x if isinstance(result, Tensor) else result


_COPIES = """
    bfloat16 bool byte cdouble cfloat chalf char clone contiguous cpu cuda double float half int
    long pin_memory short to type_as zeros_like ones_like empty_like full_like
"""


@rule(*_COPIES.split())
def copy(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    # The order of memory that an example should have is no order of all of them.
    kwargs.pop("memory_format", None)
    rest = [a for a in args if not isinstance(a, _core.memory_format)]
    if not batch.has(x):
        return func(x, *rest, **kwargs)  # another tensor tells its dtype and device alone
    return batch.wrap(func(batch.lower(x), *rest, **kwargs))


# ---- sizes


@rule("view", "reshape")
def reshape(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    physical = batch.lower(x)
    if len(args) == 1 and isinstance(args[0], _core.dtype):
        return batch.wrap(func(physical, args[0]))
    sizes = sizes_in(args) if args else tuple(next(iter(kwargs.values())))
    if batch.size == 0 and -1 in sizes:  # cannot be told from no elements
        sizes = tuple(_core.zeros(()).expand(x.shape).reshape(sizes).shape)
    return batch.wrap(func(physical, (batch.size, *sizes)))


@rule("view_as", "reshape_as")
def reshape_as(batch: Batch, func: _Function, x: Tensor, other: Tensor) -> Any:
    if not batch.has(x):
        return func(x, other)
    sizes = (batch.size, *other.shape)
    is_view = func.__name__ == "view_as"  # a tensor of its own in any case
    return batch.wrap(batch.lower(x).view(sizes) if is_view else batch.lower(x).reshape(sizes))


@rule("expand", "broadcast_to", "expand_as")
def expand(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    if isinstance(args[0] if args else None, Tensor):
        sizes = tuple(args[0].shape)
    else:
        sizes = sizes_in(args) if args else tuple(next(iter(kwargs.values())))
    if not batch.has(x):
        return x.expand(sizes)
    return batch.wrap(aligned(batch, x, len(sizes)).expand(batch.size, *sizes))


@rule("sum_to_size")
def sum_to_size(batch: Batch, func: _Function, x: Tensor, *args: Any) -> Any:
    sizes = sizes_in(args)
    n_extra = int(x.dim()) - len(sizes)
    physical = batch.lower(x)
    if not sizes:  # without dimensions, too, a sum: that of bool is int64
        return batch.wrap(physical.unsqueeze(-1).flatten(1).sum(1))
    if n_extra > 0:
        physical = physical.sum(list(range(1, n_extra + 1)))
    return batch.wrap(physical.sum_to_size(batch.size, *sizes))


@rule("repeat", "tile")
def repeat(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    counts = sizes_in(args) if args else tuple(next(iter(kwargs.values())))
    if func.__name__ == "tile":
        counts = (1,) * (int(x.dim()) - len(counts)) + tuple(counts)
    return batch.wrap(aligned(batch, x, len(counts)).repeat(1, *counts))


@rule("permute")
def permute(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    dims = sizes_in(args) if args else tuple(kwargs["dims"])
    if len(dims) != x.dim():
        return func(x, dims)  # raises
    return batch.wrap(batch.lower(x).permute(0, *shifted("permute", dims, int(x.dim()))))


@rule("flatten")
def flatten(batch: Batch, func: _Function, x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Any:
    physical, _ = with_dim(batch, x)
    n_dims = int(physical.dim()) - 1
    start, end = (shifted("flatten", d, n_dims) for d in (start_dim, end_dim))
    return batch.wrap(func(physical, start, end))


@rule("unsqueeze")
def unsqueeze(batch: Batch, func: _Function, x: Tensor, dim: int) -> Any:
    return batch.wrap(batch.lower(x).unsqueeze(shifted("unsqueeze", dim, int(x.dim()) + 1)))


@rule("squeeze")
def squeeze(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    n_dims = int(x.dim())
    dim = sizes_in(args) if len(args) > 1 else args[0] if args else kwargs.get("dim")
    if n_dims == 0:
        return batch.wrap(batch.lower(x).clone()) if dim is None else batch.wrap(batch.lower(x))
    dims = [d + 1 for d in range(n_dims) if x.shape[d] == 1] if dim is None else shifted(
        "squeeze", dim, n_dims)  # fmt: skip
    return batch.wrap(batch.lower(x).squeeze(dims))


@rule("transpose_", "squeeze_", "unsqueeze_", "t_", "swapaxes_", "swapdims_", "as_strided_")
def view_in_place(batch: Batch, func: _Function, x: Any, *args: Any, **kwargs: Any) -> Any:
    name = func.__name__[:-1]
    changed = RULES[name](batch, getattr(Tensor, name), x, *args, **kwargs)
    func(x, *args, **kwargs)  # the example itself takes the form too
    x.physical = changed.physical
    return x


@rule("t")
def t(batch: Batch, func: _Function, x: Tensor) -> Any:
    if x.dim() > 2:
        return func(x)  # raises
    return batch.wrap(batch.lower(x).transpose(1, 2) if x.dim() == 2 else batch.lower(x))


@rule("T.__get__", "H.__get__")
def reversed_dims(batch: Batch, func: _Function, x: Tensor, *owner: Any) -> Any:
    physical = batch.lower(x)
    physical = physical.permute(0, *range(int(x.dim()), 0, -1))
    return batch.wrap(physical.conj() if name_of(func) == "H.__get__" else physical)


@rule("diag")
def diag(batch: Batch, func: _Function, x: Tensor, diagonal: int = 0) -> Any:
    physical = batch.lower(x)
    if x.dim() == 1:
        return batch.wrap(physical.diag_embed(diagonal))
    if x.dim() != 2:
        return func(x, diagonal)  # raises
    return batch.wrap(physical.diagonal(diagonal, 1, 2))


# ---- joining


@rule("cat", "concat", "concatenate")
def cat(batch: Batch, func: _Function, tensors: Any, dim: int = 0) -> Any:
    # An empty vector joins with tensors of any shape.
    kept = [x for x in tensors if tuple(x.shape) != (0,)] or list(tensors)
    n_dims = max(int(x.dim()) for x in kept)
    parts = [batch.all_of(x) for x in kept]
    return batch.wrap(func(parts, shifted("cat", dim, n_dims)))


@rule("stack")
def stack(batch: Batch, func: _Function, tensors: Any, dim: int = 0) -> Any:
    n_dims = int(tensors[0].dim()) + 1
    return batch.wrap(func([batch.all_of(x) for x in tensors], shifted("stack", dim, n_dims)))


# ---- new tensors of the kind of another


@rule("new_zeros", "new_ones", "new_empty")
def new(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    sizes = kwargs.pop("size") if "size" in kwargs else sizes_in(args)
    return batch.wrap(func(batch.lower(x), (batch.size, *sizes), **kwargs))


@rule("new_full")
def new_full(
    batch: Batch, func: _Function, x: Tensor, size: Any, fill_value: Any, **kwargs: Any
) -> Any:
    if isinstance(fill_value, Tensor):
        return loop_quietly(batch, func, x, size, fill_value, **kwargs)
    sizes = (size,) if isinstance(size, int) else size
    return batch.wrap(func(batch.lower(x), (batch.size, *sizes), fill_value, **kwargs))


@rule("new_tensor")
def of_one_example(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    return func(x, *args, **kwargs)  # takes nothing but dtype and device from it
