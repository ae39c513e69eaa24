"""Views as tensors of their own: ``permute_copy`` is ``permute`` whose result shares no memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._arguments import type_name
from facula._ops._mark import operation
from facula._ops._out import into, named


def _copy_of(
    name: str, view: Callable[..., Any], arguments: str, method: bool = False
) -> Callable[..., Any]:
    """The operation ``name``: contiguous copies of what ``view`` makes of a tensor."""

    def stored(copy: Tensor, out: Any) -> Tensor:
        if out is not None and not isinstance(out, Tensor):
            raise TypeError(f"{name}: expected a tensor as out, got {type_name(out)}.")
        if out is not None and out.dtype != copy.dtype:
            raise RuntimeError(f"{name}: expected out of dtype {copy.dtype}, got {out.dtype}.")
        return into(name, out, copy)

    def copied(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is not None and not isinstance(out, (Tensor, list, tuple)):
            raise TypeError(f"{name}: expected a tensor as out, got {type_name(out)}.")
        made = view(input, *args, **kwargs)
        if isinstance(made, Tensor):
            return stored(_copied(name, made), out)
        copies = tuple(_copied(name, part) for part in made)
        if out is None:
            return copies
        for place, part in zip(out, copies, strict=True):
            stored(part, place)
        return None

    base = name.removesuffix("_copy")
    copied.__name__ = name
    copied.__doc__ = f"""What ``{base}`` makes of a tensor, in memory of its own.

    Args:
        input: any tensor.
        args: the other arguments of ``{base}``.
        out: where to put the result; a sequence of tensors, if there are several.
        kwargs: the other arguments of ``{base}``, by name.

    Example:
        >>> x = facula.ones(2, 2)
        >>> y = facula.{name}({arguments})
        >>> x[0, 0] = 5
        >>> 5 in (y if isinstance(y, facula.Tensor) else y[0])
        False
    """
    return operation(name=name, method=method)(copied)


# Of views that are made in other ways, or are none.
_NODES = {
    "alias_copy": "AliasBackward0_copy",
    "narrow_copy": "NarrowCopyBackward0",
    "view_copy": "ViewBackward0_copy",
}


def _copied(name: str, view: Tensor) -> Tensor:
    copy = view.clone(memory_format=_core.contiguous_format)
    node = _NODES.get(name) or (view.grad_fn and f"{view.grad_fn.name()}_copy")
    return named(node, copy) if node else copy


def _slice(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    part: Tensor = input.transpose(0, dim)[start:end:step].transpose(0, dim)
    return part


def _narrowed(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    # An IndexError of narrow, but not of PyTorch's copy.
    if type(dim) is int and input.dim() <= dim < 2**63:
        raise RuntimeError(f"narrow_copy: dim {dim} is out of range for {tuple(input.shape)}.")
    # Unlike narrow, PyTorch's copy has no form for a tensor as start.
    return _core.narrow(input, dim, index(start) if isinstance(start, Tensor) else start, length)


def _expanded(input: Tensor, size: Sequence[int], *, implicit: bool = False) -> Tensor:
    return input.expand(size=size)


def _viewed(input: Tensor, size: Any = None, *, dtype: Any = None) -> Tensor:
    """A view where there is one; the copy of another shape needs none."""
    if dtype is None and not isinstance(size, _core.dtype):
        return _core.reshape(input, size)
    if dtype is not None and size is not None:
        raise TypeError("view_copy: expected a size or a dtype, got both.")
    return input.view(size if dtype is None else dtype)


alias_copy = _copy_of("alias_copy", lambda x: x, "x")
as_strided_copy = _copy_of("as_strided_copy", _core.as_strided, "x, (2,), (1,)")
detach_copy = _copy_of("detach_copy", _core.detach, "x")
diagonal_copy = _copy_of("diagonal_copy", _core.diagonal, "x")
expand_copy = _copy_of("expand_copy", _expanded, "x, (3, 2, 2)")
narrow_copy = _copy_of("narrow_copy", _narrowed, "x, 0, 0, 1", method=True)
permute_copy = _copy_of("permute_copy", _core.permute, "x, (1, 0)")
select_copy = _copy_of("select_copy", _core.select, "x, 0, 0")
slice_copy = _copy_of("slice_copy", _slice, "x, 0, 0, 1")
split_copy = _copy_of("split_copy", _core.split, "x, 1")
split_with_sizes_copy = _copy_of("split_with_sizes_copy", _core.split_with_sizes, "x, [1, 1]")
squeeze_copy = _copy_of("squeeze_copy", _core.squeeze, "x")
t_copy = _copy_of("t_copy", _core.t, "x")
transpose_copy = _copy_of("transpose_copy", _core.transpose, "x, 0, 1")
unbind_copy = _copy_of("unbind_copy", _core.unbind, "x")
unfold_copy = _copy_of("unfold_copy", Tensor.unfold, "x, 0, 2, 1")
unsqueeze_copy = _copy_of("unsqueeze_copy", _core.unsqueeze, "x, 0")
view_as_complex_copy = _copy_of("view_as_complex_copy", _core.view_as_complex, "x")
view_as_real_copy = _copy_of("view_as_real_copy", _core.view_as_real, "x + 0j")
view_copy = _copy_of("view_copy", _viewed, "x, (4,)")
