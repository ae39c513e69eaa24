"""The standard's chapters of manipulation and indexing functions."""

from __future__ import annotations

from collections.abc import Sequence

import facula
from facula import _core
from facula._core import Tensor
from facula.array_api._data_types import promoted

__all__ = [
    "broadcast_arrays",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "tile",
    "unstack",
]


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """The tensors, all as views of their common shape.

    Args:
        arrays: tensors whose shapes broadcast with each other.

    Example:
        >>> x, y = facula.array_api.broadcast_arrays(facula.ones(2, 1), facula.ones(3))
        >>> x.shape, y.shape
        (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    return list(facula.broadcast_tensors(*arrays)) if arrays else []


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """The tensor as a view of a larger shape, in which elements repeat.

    Args:
        x: the tensor.
        shape: a shape to which that of ``x`` broadcasts.

    Example:
        >>> facula.array_api.broadcast_to(facula.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    return x.expand(shape)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """The tensors, one behind the other.

    Args:
        arrays: tensors of the same shape but for ``axis``; their dtypes promote.
        axis: the dimension along which they follow each other; None to flatten them first.

    Example:
        >>> facula.array_api.concat([facula.tensor([1, 2]), facula.tensor([3])])
        tensor([1, 2, 3])
    """
    tensors = promoted(arrays)
    if axis is None:
        return _core.cat([x.reshape(-1) for x in tensors])
    return _core.cat(tensors, axis)


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """A view with one more dimension, of size 1.

    Args:
        x: the tensor.
        axis: the place of the new dimension in the result.

    Example:
        >>> facula.array_api.expand_dims(facula.ones(2, 3), 1).shape
        torch.Size([2, 1, 3])
    """
    return _core.unsqueeze(x, axis)


def flip(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """The elements in reverse order.

    Args:
        x: the tensor.
        axis: the dimension or dimensions to reverse; all if left out.

    Example:
        >>> facula.array_api.flip(facula.tensor([1, 2, 3]))
        tensor([3, 2, 1])
    """
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return _core.flip(x, tuple(axes))


def moveaxis(
    x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> Tensor:
    """A view with some dimensions at other places; the others keep their order.

    Args:
        x: the tensor.
        source: the dimension or dimensions to move.
        destination: their places in the result.

    Example:
        >>> facula.array_api.moveaxis(facula.ones(2, 3, 4), 0, -1).shape
        torch.Size([3, 4, 2])
    """
    sources, places = ((dims,) if isinstance(dims, int) else dims for dims in (source, destination))
    return facula.movedim(x, sources, places)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """A view with the dimensions in another order.

    Args:
        x: the tensor.
        axes: the dimensions of ``x`` in the order of the result.

    Example:
        >>> facula.array_api.permute_dims(facula.ones(2, 3, 4), (2, 0, 1)).shape
        torch.Size([4, 2, 3])
    """
    return _core.permute(x, axes)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element some times, one behind the other.

    Args:
        x: the tensor.
        repeats: how often, for all elements or for each along ``axis``.
        axis: the dimension along which elements repeat; None to flatten the tensor first.

    Example:
        >>> facula.array_api.repeat(facula.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2])
    """
    if isinstance(repeats, Tensor):
        repeats = repeats.to(_core.int64)
    return facula.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape.

    Args:
        x: the tensor.
        shape: the sizes of the result; one may be -1, and follows from the others.
        copy: True always copies, False raises ``ValueError`` where a copy is needed, None copies
            where needed.

    Example:
        >>> facula.array_api.reshape(facula.arange(6), (2, -1))
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    if copy:
        return x.clone().reshape(shape)
    if copy is None:
        return x.reshape(shape)
    try:
        return x.view(shape)
    except RuntimeError as error:
        raise ValueError(
            f"reshape: {tuple(x.shape)} cannot become {tuple(shape)} without a copy. "
            "Leave copy out."
        ) from error


def roll(
    x: Tensor,
    /,
    shift: int | tuple[int, ...],
    *,
    axis: int | tuple[int, ...] | None = None,
) -> Tensor:
    """The elements, moved on; those that leave at the end come in at the beginning.

    Args:
        x: the tensor.
        shift: by how many places, for all dimensions or for each.
        axis: the dimension or dimensions along which they move; None for the flattened tensor.

    Example:
        >>> facula.array_api.roll(facula.tensor([1, 2, 3]), 1)
        tensor([3, 1, 2])
    """
    if axis is None or (isinstance(axis, int) and isinstance(shift, int)):
        return _core.roll(x, shift, axis)
    axes = (axis,) if isinstance(axis, int) else axis
    shifts = (shift,) * len(axes) if isinstance(shift, int) else shift
    return _core.roll(x, shifts, axes)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """A view without some dimensions of size 1.

    Args:
        x: the tensor.
        axis: the dimension or dimensions to leave out; each must have size 1.

    Example:
        >>> facula.array_api.squeeze(facula.ones(2, 1, 3), 1).shape
        torch.Size([2, 3])
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for each in axes:
        if x.shape[each] != 1:
            raise ValueError(f"squeeze: expected size 1 at {each}, got {tuple(x.shape)}.")
    return _core.squeeze(x, axes)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """The tensors along a new dimension.

    Args:
        arrays: tensors of one shape; their dtypes promote.
        axis: the place of the new dimension in the result.

    Example:
        >>> facula.array_api.stack([facula.tensor([1, 2]), facula.tensor([3, 4])], axis=1)
        tensor([[1, 3],
                [2, 4]])
    """
    return _core.stack(promoted(arrays), axis)


def _from_the_start(indices: Tensor, size: int) -> Tensor:
    places = indices.to(_core.int64)
    return places + size * (places < 0)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """What lies at some places along a dimension.

    Args:
        x: the tensor.
        indices: the places, in one dimension or none; negative ones count from the end.
        axis: the dimension; it may be left out if the tensor has just one.

    Example:
        >>> facula.array_api.take(facula.tensor([[1, 2, 3]]), facula.tensor([2, 0]), axis=1)
        tensor([[3, 1]])
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: expected axis for a tensor of {x.ndim} dimensions, got None.")
        axis = 0
    axis %= x.ndim
    places = _from_the_start(indices, x.shape[axis])
    taken = _core.index_select(x, axis, places.reshape(-1))
    return taken.reshape(x.shape[:axis] + indices.shape + x.shape[axis + 1 :])


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """From each line along a dimension, what lies at its own places.

    Args:
        x: the tensor.
        indices: the places; but for ``axis`` its shape broadcasts with that of ``x``.
        axis: the dimension.

    Example:
        >>> x = facula.tensor([[1, 2], [3, 4]])
        >>> facula.array_api.take_along_axis(x, facula.tensor([[1], [0]]))
        tensor([[2],
                [3]])
    """
    return _core.take_along_dim(x, _from_the_start(indices, x.shape[axis]), axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The whole tensor some times along each dimension.

    Args:
        x: the tensor.
        repetitions: how often for each dimension, the last ones if they are fewer.

    Example:
        >>> facula.array_api.tile(facula.tensor([1, 2]), (2, 2))
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
    """
    return facula.tile(x, repetitions)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The tensors that ``stack`` would join to this one.

    Args:
        x: the tensor.
        axis: the dimension to take apart.

    Example:
        >>> facula.array_api.unstack(facula.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    return tuple(_core.unbind(x, axis))
