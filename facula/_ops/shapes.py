"""Shapes: broadcasting, turning, repeating, and diagonals in place."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._arguments import type_name, wrap_dim
from facula._ops._mark import looks_at_values, operation
from facula._ops._out import named


@operation
def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that shapes broadcast to.

    Args:
        shapes: sequences of sizes; an int counts as a sequence of one.

    Example:
        >>> facula.broadcast_shapes((2,), (3, 1), (1, 1, 1))
        torch.Size([1, 3, 2])
    """
    return _broadcast("broadcast_shapes", shapes)


def _broadcast(name: str, shapes: Iterable[Any]) -> Any:
    as_tuples = []
    for shape in shapes:
        if not isinstance(shape, (tuple, list, int)):
            raise RuntimeError(f"{name}: expected ints or sequences of them, got {shape!r}.")
        as_tuples.append((shape,) if isinstance(shape, int) else tuple(shape))
    n_dims = max(map(len, as_tuples), default=0)
    result = [1] * n_dims
    for shape in as_tuples:
        for i, size in enumerate(shape, n_dims - len(shape)):
            if size < 0:
                raise ValueError(f"{name}: sizes must not be negative, got {shape}.")
            if size == 1 or size == result[i]:
                continue
            if result[i] != 1:
                raise RuntimeError(
                    f"{name}: shapes do not broadcast: "
                    f"{', '.join(map(str, as_tuples))} differ in dimension {i - n_dims}."
                )
            result[i] = size
    return _core.Size(result)


@operation
def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Expand tensors to their common shape, without copying.

    Args:
        tensors: the tensors, one by one or as one sequence.

    Example:
        >>> a, b = facula.broadcast_tensors(facula.ones(3), facula.ones(2, 1))
        >>> a.shape, b.shape
        (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    given = unpacked(tensors)
    for t in given:
        if not isinstance(t, Tensor):
            raise TypeError(
                f"broadcast_tensors: expected a tensor as each of tensors, got {type_name(t)}."
            )
    return broadcast_for("broadcast_tensors", *given)


def broadcast_for(name: str, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors in their common shape; if there is none, an error of the operation ``name``."""
    shape = _broadcast(name, [t.shape for t in tensors])
    return tuple([t if t.shape == shape else t.expand(shape) for t in tensors])


def unpacked(tensors: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """The tensors, which were given one by one or as one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        return tuple(tensors[0])
    return tensors


def _for_each(change: Callable[[Tensor], Tensor], tensors: tuple[Any, ...]) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return change(tensors[0])
    return tuple(change(t) for t in unpacked(tensors))


@operation
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Give 0-d tensors one dimension; several tensors come back as a tuple.

    Args:
        tensors: the tensors, one by one or as one sequence.

    Example:
        >>> facula.atleast_1d(facula.tensor(1.0))
        tensor([1.])
    """
    return _for_each(lambda t: t.reshape(1) if t.dim() == 0 else t, tensors)


@operation
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Give tensors two dimensions, adding them in front.

    Args:
        tensors: the tensors, one by one or as one sequence.

    Example:
        >>> facula.atleast_2d(facula.ones(3)).shape
        torch.Size([1, 3])
    """

    def change(t: Tensor) -> Tensor:
        if t.dim() == 0:
            return t.reshape(1, 1)
        return t.unsqueeze(0) if t.dim() == 1 else t

    return _for_each(change, tensors)


@operation
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Give tensors three dimensions; a vector becomes ``(1, n, 1)``, a matrix ``(n, m, 1)``.

    Args:
        tensors: the tensors, one by one or as one sequence.

    Example:
        >>> facula.atleast_3d(facula.ones(2, 3)).shape
        torch.Size([2, 3, 1])
    """

    def change(t: Tensor) -> Tensor:
        if t.dim() == 0:
            return t.reshape(1, 1, 1)
        if t.dim() == 1:
            return t.unsqueeze(0).unsqueeze(-1)
        return t.unsqueeze(-1) if t.dim() == 2 else t

    return _for_each(change, tensors)


@operation(method=True)
def fliplr(input: Tensor) -> Tensor:
    """Reverse the order along dimension 1: left and right change places.

    Args:
        input: a tensor of two or more dimensions.

    Example:
        >>> facula.fliplr(facula.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"fliplr: expected two or more dimensions, got {tuple(input.shape)}.")
    return input.flip(1)


@operation(method=True)
def flipud(input: Tensor) -> Tensor:
    """Reverse the order along dimension 0: top and bottom change places.

    Args:
        input: a tensor of one or more dimensions.

    Example:
        >>> facula.flipud(facula.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]])
    """
    if input.dim() < 1:
        raise RuntimeError("flipud: expected one or more dimensions, got a 0-d tensor.")
    return input.flip(0)


@operation(method=True)
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turn a tensor by quarters in the plane of two dimensions.

    Args:
        input: the tensor to turn.
        k: how many quarters to turn, from the first of ``dims`` towards the second.
        dims: the two dimensions of the plane.

    Example:
        >>> facula.rot90(facula.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"rot90: expected two dims, got {list(dims)}.")
    if input.dim() < 2:
        raise RuntimeError(f"rot90: expected two or more dimensions, got {tuple(input.shape)}.")
    first, second = (wrap_dim("rot90", input, d) for d in dims)
    if first == second:
        raise RuntimeError(f"rot90: expected two different dims, got {list(dims)}.")
    turns = k % 4
    if turns == 0:
        copy = input.clone(memory_format=_core.contiguous_format)
        return named("Rot90Backward0", copy)
    if turns == 2:
        return named("Rot90Backward0", input.flip([first, second]))
    flipped = input.flip(second if turns == 1 else first)
    return flipped.transpose(first, second)


@operation
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split one dimension into several.

    Args:
        input: the tensor to view in another shape.
        dim: the dimension to split.
        sizes: the sizes of the new dimensions; one may be -1, which stands for what remains.

    Example:
        >>> facula.unflatten(facula.ones(2, 12), 1, (3, -1)).shape
        torch.Size([2, 3, 4])
    """
    dim = wrap_dim("unflatten", input, dim)
    if input.dim() == 0:
        raise RuntimeError("unflatten: expected a tensor with dimensions, got a 0-d tensor.")
    new = list(sizes)
    if not new:
        raise RuntimeError("unflatten: sizes must not be empty.")
    shape = list(input.shape)
    if -1 in new:
        known = math.prod(size for size in new if size != -1)
        if known != 0:
            new[new.index(-1)] = shape[dim] // known
    if -1 in new or math.prod(new) != shape[dim]:
        raise RuntimeError(
            f"unflatten: sizes {list(sizes)} do not multiply to {shape[dim]}, the size of "
            f"dimension {dim}."
        )
    return input.view(shape[:dim] + new + shape[dim + 1 :])


@operation(name="unflatten", method="only")
def _unflatten(self: Tensor, dim: int, sizes: Any, *more: int) -> Tensor:
    """Split one dimension into several.

    Args:
        dim: the dimension to split.
        sizes: the sizes of the new dimensions, as a sequence or one by one; one may be -1, which
            stands for what remains.
        more: the further sizes, where they are given one by one.

    Example:
        >>> facula.ones(2, 12).unflatten(1, 3, -1).shape
        torch.Size([2, 3, 4])
    """
    return unflatten(self, dim, (sizes, *more) if isinstance(sizes, int) else sizes)


@operation(method=True)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two dimensions; another name of ``transpose``.

    Args:
        input: the tensor to view in another shape.
        axis0: one dimension.
        axis1: the dimension that it changes places with.

    Example:
        >>> facula.swapaxes(facula.ones(2, 3), 0, 1).shape
        torch.Size([3, 2])
    """
    return input.transpose(axis0, axis1)


@operation(method=True)
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions; another name of ``transpose``.

    Args:
        input: the tensor to view in another shape.
        dim0: one dimension.
        dim1: the dimension that it changes places with.

    Example:
        >>> facula.swapdims(facula.ones(2, 3), 0, 1).shape
        torch.Size([3, 2])
    """
    return input.transpose(dim0, dim1)


@operation(method=True)
def ravel(input: Tensor) -> Tensor:
    """The elements in one dimension, as a view where that is possible.

    Args:
        input: the tensor to flatten.

    Example:
        >>> facula.ravel(facula.tensor([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4])
    """
    return input.contiguous().view(-1)


@operation(method=True)
@looks_at_values
def repeat_interleave(
    input: Tensor,
    repeats: Tensor | int | None = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Repeat each entry along a dimension, one after the other.

    Args:
        input: the tensor whose entries are repeated. Without ``repeats`` it holds the counts, and
            the result is the indices, each repeated as often as its count says.
        repeats: how often an entry is repeated: one count for all, or one for each.
        dim: the dimension whose entries are repeated; by default the tensor is flattened.
        output_size: the size of the result in ``dim``; an error if it is another.

    Example:
        >>> facula.repeat_interleave(facula.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2])
    """
    if repeats is None:
        return _repeated_indices(input, input.numel(), output_size).to(input.dtype)
    if dim is None:
        input, dim = input.reshape(-1), 0
    if not isinstance(repeats, Tensor):
        n = repeats if isinstance(repeats, int) else operator.index(repeats)
        return _repeated_evenly(input, n, dim, output_size)
    return input.index_select(dim, _repeated_indices(repeats, input.size(dim), output_size))


def _repeated_evenly(input: Tensor, repeats: int, dim: int, output_size: int | None) -> Tensor:
    if repeats < 0:
        raise RuntimeError(f"repeat_interleave: repeats must be non-negative, got {repeats}.")
    total = input.size(dim) * repeats
    if output_size is not None and output_size != total:
        raise RuntimeError(
            f"repeat_interleave: output_size is {output_size}, but the result has {total} entries."
        )
    dim %= input.dim()
    copies = [*input.shape[: dim + 1], repeats, *input.shape[dim + 1 :]]
    if dim + 1 == input.dim():
        input = input.contiguous()  # else the copy goes across memory for each of the repeats
    spread = input.unsqueeze(dim + 1).expand(copies)
    return spread.clone(memory_format=_core.contiguous_format).flatten(dim, dim + 1)


def _repeated_indices(counts: Tensor, n: int, output_size: int | None) -> Tensor:
    name = "repeat_interleave"
    if counts.dim() > 1 or counts.dtype not in (_core.int64, _core.int32):
        raise RuntimeError(
            f"{name}: expected repeats to be a 0-d or 1-d tensor of int64 or int32, got "
            f"{counts.dtype} {tuple(counts.shape)}."
        )
    if counts.numel() != n and counts.numel() != 1:
        raise RuntimeError(
            f"{name}: expected one count or {n}, one for each entry, got {counts.numel()}."
        )
    if counts.is_meta:
        if output_size is None:
            raise RuntimeError(f"{name}: cannot repeat a meta tensor without output_size.")
        return _core.empty(output_size, dtype=_core.int64, device="meta")
    ends = counts.reshape(-1).expand(n).cumsum(0)
    if output_size is not None and counts.is_cuda:
        # The host waits for nothing. Counts that are no counts become a place that index_add_
        # reports, and so do those that add up to more; less leaves indices that are too large.
        total = output_size
        ends = ends.masked_fill((counts < 0).any(), total + 1)
    else:
        if counts.numel() and int(counts.min()) < 0:
            raise RuntimeError(f"{name}: repeats must be non-negative, got {int(counts.min())}.")
        total = int(ends[-1]) if n else 0
        if output_size is not None and output_size != total:
            raise RuntimeError(
                f"{name}: output_size is {output_size}, but repeats add up to {total}."
            )
    # Entry i owns the places before the running total of the counts: as many entries lie before a
    # place as totals up to it.
    n_ending = _core.zeros(total + 1, dtype=_core.int64, device=counts.device)
    return n_ending.index_add_(0, ends, _core.ones_like(ends))[:total].cumsum(0)


@operation
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Coordinates of elements, from their places in the flattened tensor.

    Args:
        indices: the places, integers; counting starts again where the tensor ends.
        shape: the shape of the tensor: an int or a sequence of ints.

    Returns:
        One tensor, shaped as ``indices``, for each dimension.

    Example:
        >>> facula.unravel_index(facula.tensor([5, 7]), (3, 4))
        (tensor([1, 1]), tensor([1, 3]))
    """
    if indices.is_floating_point() or indices.is_complex() or indices.dtype == _core.bool:
        raise TypeError(f"unravel_index: expected integer indices, got {indices.dtype}.")
    if not isinstance(shape, (int, tuple, list)):
        raise TypeError(f"unravel_index: expected an int or ints as shape, got {type(shape)}.")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"unravel_index: sizes must not be negative, got {sizes}.")
    if not sizes:
        return ()
    if 0 in sizes and indices.numel() > 0:
        raise RuntimeError(f"unravel_index: the shape {sizes} has no places.")
    steps = [math.prod(sizes[i + 1 :]) or 1 for i in range(len(sizes))]
    # The coordinates of a point lie together in memory; the result is views by dimension.
    by_dim, limits = (_core.tensor(n, device=indices.device) for n in (steps, sizes))
    points = indices.to(_core.int64).unsqueeze(-1).div(by_dim, rounding_mode="floor")
    return tuple(points.remainder(limits.clamp_min(1)).unbind(-1))


@operation(method="only")
def fill_diagonal_(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write a value to the main diagonal, in place.

    Args:
        fill_value: the value to write.
        wrap: whether, in a matrix with more rows than columns, a diagonal begins again below the
            last one, after a row that is left out.

    Example:
        >>> facula.zeros(2, 3).fill_diagonal_(1)
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"fill_diagonal_: expected 2 or more dimensions, got {tuple(input.shape)}."
        )
    if input.dim() > 2 and len(set(input.shape)) > 1:
        raise RuntimeError(
            "fill_diagonal_: expected more than 2 dimensions to be of one length, "
            f"got {tuple(input.shape)}."
        )
    step = sum(input.stride())
    input.as_strided((min(input.shape),), (step,), input.storage_offset()).fill_(fill_value)
    n_columns = input.size(1)
    if wrap and input.dim() == 2 and input.size(0) > n_columns + 1:
        fill_diagonal_(input[n_columns + 1 :], fill_value, wrap)
    return input
