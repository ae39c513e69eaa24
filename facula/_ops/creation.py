"""Creation: tensors from sizes, from numbers, and from the elements of other tensors."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._mark import operation
from facula._ops._out import into, named
from facula._ops.shapes import repeat_interleave, unpacked
from facula._warnings import warn_user, warn_user_once


@operation
def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A dense tensor, not initialised, with its dimensions in a given order in memory.

    Args:
        size: the shape of the result.
        physical_layout: the dimensions from the outermost in memory to the innermost.
        dtype: the dtype of the result; the default dtype if left out.
        layout: accepted for its only value, ``strided``.
        device: where the result is created; the CPU if left out.
        requires_grad: whether the result is a leaf that wants a gradient.
        pin_memory: accepted for compatibility; the memory is ordinary.

    Example:
        >>> facula.empty_permuted((2, 3, 5, 7), (0, 2, 3, 1)).stride()
        (105, 1, 21, 3)
    """
    n_dims = len(size)
    if len(physical_layout) != n_dims:
        raise RuntimeError(
            f"empty_permuted: expected a place in memory for each of {n_dims} dimensions, got "
            f"{tuple(physical_layout)}."
        )
    if sorted(physical_layout) != [*builtins.range(n_dims)]:
        raise RuntimeError(
            f"empty_permuted: expected each of the dimensions 0 to {n_dims - 1} once, got "
            f"{tuple(physical_layout)}."
        )
    strides, step = [0] * n_dims, 1
    for dim in reversed(physical_layout):
        strides[dim] = step
        step *= size[dim] or 1
    return _core.empty_strided(
        size, strides, dtype=dtype, device=device, requires_grad=requires_grad
    )


@operation(method="only")
def new_empty_strided(
    self: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with given strides, not initialised, by default of this tensor's dtype and device.

    Args:
        size: the shape of the result.
        stride: the distance in memory between neighbours, for each dimension.
        dtype: the dtype of the result; this tensor's if left out.
        device: where the result is created; this tensor's device if left out.
        requires_grad: whether the result is a leaf that wants a gradient.
        layout: accepted for its only value, ``strided``.
        pin_memory: accepted for compatibility; the memory is ordinary.

    Example:
        >>> facula.ones(1).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    return _core.empty_strided(
        size,
        stride,
        dtype=self.dtype if dtype is None else dtype,
        device=self.device if device is None else device,
        requires_grad=requires_grad,
    )


@operation
def range(
    start: float,
    end: float,
    step: float = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers from ``start`` to ``end``, which is included; deprecated, see ``arange``.

    Args:
        start: the first number.
        end: the last number, if a whole number of steps leads to it.
        step: the distance between two neighbouring numbers.
        out: where to put the result.
        dtype: the dtype of the result; the default dtype if left out, for integers too.
        layout: accepted for its only value, ``strided``.
        device: where the result is created; the CPU if left out.
        pin_memory: accepted for compatibility; the memory is ordinary.
        requires_grad: whether the result is a leaf that wants a gradient.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> facula.range(0, 1, 0.5)
        tensor([0.0000, 0.5000, 1.0000])
    """
    warn_user("range: is deprecated, because it includes its end. Use arange.")
    if dtype is None:
        dtype = _core.get_default_dtype() if out is None else out.dtype
    if dtype == _core.bool or dtype.is_complex:
        raise NotImplementedError(f"range: not defined for {dtype}.")
    if not dtype.is_floating_point:
        start, end, step = int(start), int(end), int(step)
    if step == 0:
        raise RuntimeError("range: step must be nonzero.")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"range: expected finite bounds, got {start} and {end}.")
    if (end - start) * step < 0:
        raise RuntimeError(f"range: steps of {step} do not lead from {start} to {end}.")
    # arange excludes its end, which is put half a step after the last number, where no rounding
    # reaches it; a whole step between integers.
    if dtype.is_floating_point:
        stop = start + (math.floor((end - start) / step) + 0.5) * step
    else:
        stop = start + ((end - start) // step + 1) * step
    result = _core.arange(start, stop, step, dtype=dtype, device=device)
    result = into("range", out, result)
    return result.requires_grad_() if requires_grad else result


@operation
def meshgrid(
    *tensors: Tensor | Sequence[Tensor], indexing: str | None = None
) -> tuple[Tensor, ...]:
    """Coordinates of a grid, from the coordinates along each of its axes.

    Args:
        tensors: the coordinates along each axis, as vectors or 0-d tensors.
        indexing: ``"ij"``, the default, if dimension ``k`` of the result belongs to tensor ``k``;
            ``"xy"`` if the first two dimensions are swapped.

    Example:
        >>> x, y = facula.tensor([1, 2]), facula.tensor([3, 4, 5])
        >>> rows, columns = facula.meshgrid(x, y, indexing="ij")
        >>> rows
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    axes = unpacked(tensors)
    if not axes:
        raise RuntimeError("meshgrid: expected at least one tensor.")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f"meshgrid: expected indexing 'ij' or 'xy', got {indexing!r}.")
    for axis in axes:
        if axis.dim() > 1:
            raise RuntimeError(
                f"meshgrid: expected vectors or 0-d tensors, got shape {tuple(axis.shape)}."
            )
    if any(axis.dtype != axes[0].dtype for axis in axes):
        raise RuntimeError(
            f"meshgrid: expected tensors of one dtype, got {[x.dtype for x in axes]}."
        )
    if indexing is None:
        warn_user_once(
            "torch.meshgrid: in an upcoming release of PyTorch, it will be required to pass the "
            "indexing argument. Pass indexing='ij' for what is done without it."
        )
    dims = list(builtins.range(len(axes)))
    order = [1, 0, *dims[2:]] if indexing == "xy" and len(axes) >= 2 else dims
    shape = [axis.numel() for axis in axes]
    columns = (axis.reshape([-1 if d == k else 1 for d in dims]) for k, axis in enumerate(axes))
    return tuple(column.expand(shape).permute(order) for column in columns)


@operation
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element from each vector, one to a row.

    Args:
        tensors: the vectors to choose from.

    Example:
        >>> facula.cartesian_prod(facula.tensor([1, 2]), facula.tensor([4, 5]))
        tensor([[1, 4],
                [1, 5],
                [2, 4],
                [2, 5]])
    """
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"cartesian_prod: expected vectors, got shape {tuple(t.shape)}.")
    if len(tensors) == 1:
        return tensors[0]
    return _core.stack([grid.reshape(-1) for grid in meshgrid(*tensors, indexing="ij")], 1)


@operation
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of ``r`` elements of a vector, one to a row.

    Args:
        input: the vector to choose from.
        r: how many elements a combination has.
        with_replacement: whether an element may occur several times in a combination.

    Example:
        >>> facula.combinations(facula.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
    """
    if input.dim() != 1:
        raise RuntimeError(f"combinations: expected a vector, got shape {tuple(input.shape)}.")
    if r < 0:
        raise RuntimeError(f"combinations: expected r >= 0, got {r}.")
    if r == 0:
        return input.new_empty(0)
    n, skipped = input.numel(), 0 if with_replacement else 1
    if r > 64 and (n == 0 or (r > n and not with_replacement)):
        return input[:0].reshape(0, r)  # not in r steps
    # PyTorch has a grid of as many dimensions as r, which tensors do not have either.
    if r > 64 or math.comb(n if skipped else n + r - 1, r) * r >= 2**32:
        raise RuntimeError(
            f"combinations: those of {r} elements of {n} are too many for a tensor of all."
        )
    # Each combination so far goes on with everything behind its last element (or from it on).
    last = _core.arange(n, device=input.device)
    columns = [input]
    for _ in builtins.range(r - 1):
        first = last + skipped
        counts = n - first
        before = counts.cumsum(0) - counts
        row = repeat_interleave(counts)
        columns = [column.index_select(0, row) for column in columns]
        last = (first - before).index_select(0, row)
        last += _core.arange(last.numel(), device=input.device)
        columns.append(input.index_select(0, last))
    return _core.stack(columns, 1)


@operation
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere.

    Args:
        tensors: matrices; a vector counts as a row, a 0-d tensor as a matrix of one element.

    Example:
        >>> facula.block_diag(facula.tensor([[1, 2]]), facula.tensor(3))
        tensor([[1, 2, 0],
                [0, 0, 3]])
    """
    blocks = []
    for index, t in enumerate(tensors):
        if t.dim() > 2:
            raise RuntimeError(
                f"block_diag: expected at most two dimensions, got shape {tuple(t.shape)} at "
                f"index {index}."
            )
        blocks.append(t.reshape(1, -1) if t.dim() < 2 else t)
    if not blocks:
        return _core.empty(1, 0)
    n_columns, start = sum(block.size(1) for block in blocks), 0
    rows = []
    for block in blocks:
        end = start + block.size(1)
        rows.append(_core.constant_pad_nd(block, (start, n_columns - end)))
        start = end
    return named("BlockDiagBackward0", _core.cat(rows, 0))


@operation
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of the elements of a vector, one element to a row.

    Args:
        x: a vector.
        N: how many powers there are, from 0 on; by default as many as ``x`` has elements.
        increasing: whether power 0 comes first rather than last.

    Example:
        >>> facula.vander(facula.tensor([1, 2, 3]), increasing=True)
        tensor([[1, 1, 1],
                [1, 2, 4],
                [1, 3, 9]])
    """
    if x.dim() != 1:
        raise RuntimeError(f"vander: expected a vector, got shape {tuple(x.shape)}.")
    n = x.size(0) if N is None else N
    if n < 0:
        raise RuntimeError(f"vander: expected N >= 0, got {n}.")
    dtype = x.dtype if x.is_floating_point() or x.is_complex() else _core.int64
    x = x.to(dtype)
    powers = _core.ones((x.size(0), n), dtype=dtype, device=x.device)
    if n > 1:
        factors = x.unsqueeze(1).expand(x.size(0), n - 1)
        powers = _core.cat([powers.narrow(1, 0, 1), factors.cumprod(1)], 1)
    return powers if increasing else powers.flip(1)


@operation(method=True)
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Put the last dimension on the diagonal of matrices of zeros.

    Args:
        input: the diagonals, along the last dimension.
        offset: how far above the main diagonal they come to lie; below it where negative.
        dim1: the dimension of the result along which the rows of the matrices lie.
        dim2: the dimension of the result along which their columns lie.

    Example:
        >>> facula.diag_embed(facula.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """
    n_dims = input.dim() + 1
    for d in (dim1, dim2):
        if not -n_dims <= d < n_dims:
            raise IndexError(f"diag_embed: dim {d} is out of range for {n_dims} dimensions.")
    first, second = dim1 % n_dims, dim2 % n_dims
    if first == second:
        raise RuntimeError(f"diag_embed: dim1 and dim2 are both {first}.")
    size = input.size(-1) + abs(offset)
    shape = list(input.shape)[:-1]
    for d in sorted((first, second)):
        shape.insert(d, size)
    result = input.new_zeros(shape)
    result.diagonal(offset, first, second).copy_(input)
    return named("DiagEmbedBackward0", result)


@operation(method=True)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements of a tensor on a diagonal, and zeros elsewhere.

    Args:
        input: the elements of the diagonal.
        offset: how far above the main diagonal they come to lie; below it where negative.

    Example:
        >>> facula.diagflat(facula.tensor([1, 2]), 1)
        tensor([[0, 1, 0],
                [0, 0, 2],
                [0, 0, 0]])
    """
    return diag_embed(input.reshape(-1), offset)


@operation
def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """Rows and columns of the elements on and below a diagonal of a ``row`` by ``col`` matrix.

    Args:
        row: how many rows the matrix has.
        col: how many columns the matrix has.
        offset: how far the diagonal lies above the main diagonal; below it where negative.
        dtype: the dtype of the result; int64 if left out.
        device: where the result is created; the CPU if left out.
        layout: accepted for its only value, ``strided``.

    Example:
        >>> facula.tril_indices(2, 2)
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """
    return _core._triangle_indices(row, col, offset, True, dtype, device)


@operation
def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """Rows and columns of the elements on and above a diagonal of a ``row`` by ``col`` matrix.

    Args:
        row: how many rows the matrix has.
        col: how many columns the matrix has.
        offset: how far the diagonal lies above the main diagonal; below it where negative.
        dtype: the dtype of the result; int64 if left out.
        device: where the result is created; the CPU if left out.
        layout: accepted for its only value, ``strided``.

    Example:
        >>> facula.triu_indices(2, 2)
        tensor([[0, 0, 1],
                [0, 1, 1]])
    """
    return _core._triangle_indices(row, col, offset, False, dtype, device)
