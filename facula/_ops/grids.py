"""Grids, combinations and matrices built from vectors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor

__all__ = [
    "block_diag",
    "cartesian_prod",
    "combinations",
    "diag_embed",
    "diagflat",
    "meshgrid",
    "tril_indices",
    "triu_indices",
    "vander",
]


def meshgrid(
    *tensors: Tensor | Sequence[Tensor], indexing: str | None = None
) -> tuple[Tensor, ...]:
    """Coordinates of a grid, from the coordinates along each of its axes.

    Args:
        tensors: vectors or 0-d tensors, one for each axis.
        indexing: ``"ij"`` (the default): result dimension ``k`` belongs to tensor ``k``;
            ``"xy"``: the first two are swapped.

    Example:
        >>> rows, columns = facula.meshgrid(facula.tensor([1, 2]), facula.tensor([3, 4, 5]))
        >>> rows
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    axes: tuple[Any, ...] = tuple(tensors[0]) if _is_sequence(tensors) else tensors
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
    order = list(range(len(axes)))
    if indexing == "xy" and len(axes) >= 2:
        order[0], order[1] = 1, 0
    shape = [axis.numel() for axis in axes]
    grids = []
    for k, axis in enumerate(axes):
        column = axis.reshape([-1 if d == k else 1 for d in range(len(axes))])
        grids.append(column.expand(shape).permute(order))
    return tuple(grids)


def _is_sequence(tensors: tuple[Any, ...]) -> bool:
    return len(tensors) == 1 and isinstance(tensors[0], (list, tuple))


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element from each vector, one to a row.

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
    return _core.stack([grid.reshape(-1) for grid in meshgrid(*tensors)], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of ``r`` elements of a vector, one to a row.

    Args:
        input: a vector.
        r: elements to a combination.
        with_replacement: an element may occur several times.

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
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = [index for row in choose(range(input.numel()), r) for index in row]
    index = _core.tensor(rows, dtype=_core.int64, device=input.device)
    return input.index_select(0, index).reshape(-1, r)


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given ones on its diagonal and zeros elsewhere.

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
    n_columns = sum(block.size(1) for block in blocks)
    rows, start = [], 0
    for block in blocks:
        left = block.new_zeros(block.size(0), start)
        right = block.new_zeros(block.size(0), n_columns - start - block.size(1))
        rows.append(_core.cat([left, block, right], 1))
        start += block.size(1)
    return _core.cat(rows, 0)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of the elements of a vector, one element to a row.

    Args:
        x: a vector.
        N: number of powers, from 0 on; by default the length of ``x``.
        increasing: power 0 comes first rather than last.

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


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Put the last dimension on the diagonal of matrices of zeros.

    Args:
        input: the diagonals.
        offset: above (positive) or below (negative) the main diagonal.
        dim1, dim2: the dimensions of the matrices in the result.

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
    return result


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements of a tensor on its diagonal.

    Example:
        >>> facula.diagflat(facula.tensor([1, 2]), 1)
        tensor([[0, 1, 0],
                [0, 0, 2],
                [0, 0, 0]])
    """
    return diag_embed(input.reshape(-1), offset)


def _triangle_indices(
    name: str, row: int, col: int, offset: int, is_lower: bool, dtype: Any, device: Any
) -> Tensor:
    if row < 0 or col < 0:
        raise RuntimeError(f"{name}: expected row and col >= 0, got {row} and {col}.")
    dtype = _core.int64 if dtype is None else dtype
    distance = _core.arange(col, device=device) - _core.arange(row, device=device).unsqueeze(1)
    mask = distance <= offset if is_lower else distance >= offset
    return mask.argwhere().t().contiguous().to(dtype)


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

    Example:
        >>> facula.tril_indices(2, 2)
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """
    return _triangle_indices("tril_indices", row, col, offset, True, dtype, device)


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

    Example:
        >>> facula.triu_indices(2, 2)
        tensor([[0, 0, 1],
                [0, 1, 1]])
    """
    return _triangle_indices("triu_indices", row, col, offset, False, dtype, device)
