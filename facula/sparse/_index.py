"""Arithmetic of indices: places as numbers, sorted and added up, and rows as lists.

All of it is on dense tensors of integers, without history.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import facula
from facula import _core
from facula._core import Tensor
from facula.sparse._tensor import COO, CSR, SparseTensor


def wrap_dim(name: str, dim: int, n_dims: int) -> int:
    """The dimension, counted from the front; an error of the operation where there is none such."""
    n = max(n_dims, 1)
    if not -n <= dim < n:
        raise IndexError(f"{name}: dim {dim} is out of range for a tensor of {n_dims} dimensions.")
    return dim % n


# The number of each index among all of a tensor of these sizes, row by row. It raises for indices
# outside of the sizes, which were not compared when they were given; where `is_inside` says that
# there are none, a GPU is not waited for.
places = _core._places
is_rising = _core._is_rising


def strides(sizes: Sequence[int]) -> list[int]:
    """The distance of neighbours along each dimension of a contiguous tensor."""
    return [math.prod(sizes[d + 1 :]) for d in range(len(sizes))]


def indices_of_places(numbers: Tensor, sizes: Sequence[int]) -> Tensor:
    """The indices whose :func:`places` these are."""
    if not sizes:
        return numbers.new_empty((0, numbers.numel()))
    steps = zip(strides(sizes), sizes, strict=True)
    rows = [
        facula.floor_divide(numbers, max(step, 1)).remainder(max(size, 1)) for step, size in steps
    ]
    return facula.stack(rows)


def add_rows(n_rows: int, where: Tensor, values: Tensor) -> Tensor:
    """Zeros with ``values[i]`` added to row ``where[i]``."""
    shape = (n_rows, *values.shape[1:])
    if values.dtype == facula.bool:  # the sum of truths is whether one of them is True
        return add_rows(n_rows, where, values.to(facula.int64)) > 0
    zeros = facula.zeros(shape, dtype=values.dtype, device=values.device)
    return zeros.index_add(0, where, values)


def add_up(indices: Tensor, values: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Indices sorted, each once, with the sums of their values."""
    numbers = places(indices, sizes)
    if is_rising(numbers):
        return indices, values
    numbers, order = numbers.sort(stable=True)
    is_first = facula.ones(numbers.shape, dtype=facula.bool, device=numbers.device)
    is_first[1:] = numbers[1:] != numbers[:-1]
    group = is_first.cumsum(0) - 1
    kept = numbers[is_first]
    sums = add_rows(kept.numel(), group, values.index_select(0, order))
    return indices_of_places(kept, sizes), sums


def starts_of(sorted_rows: Tensor, n_rows: int) -> Tensor:
    """Where each row begins in a sorted list of row numbers, and where the last one ends."""
    wanted = facula.arange(n_rows + 1, device=sorted_rows.device)
    return facula.searchsorted(sorted_rows.contiguous(), wanted)


def rows_of(starts: Tensor, n_places: int) -> Tensor:
    """The row number of each of ``n_places`` elements of lists that begin at ``starts``."""
    counts = starts.diff().to(facula.int64)
    # Unchecked so far, and the result is as large as they say.
    if int(starts[0]) != 0 or int(starts[-1]) != n_places or bool((counts < 0).any()):
        raise RuntimeError(
            f"compressed indices must rise from 0 to the number of values, {n_places}. See "
            "facula.sparse.check_sparse_tensor_invariants."
        )
    return facula.repeat_interleave(facula.arange(counts.numel(), device=starts.device), counts)


def as_coo(layout: _core.layout, index: Sequence[Tensor]) -> Tensor:
    """The COO indices that index tensors of a layout stand for, in the order of the values."""
    if layout is COO:
        return index[0]
    compressed, plain = (part.to(facula.int64) for part in index)
    pair = [rows_of(compressed, plain.numel()), plain]
    return facula.stack(pair if layout is CSR else pair[::-1])


def indices_of(x: SparseTensor) -> Tensor:
    """The COO indices of a tensor of any layout, in the order of its values."""
    return as_coo(x._kind, x._index)


def sparse_sizes(x: SparseTensor) -> tuple[int, ...]:
    """The sizes of the dimensions that are indexed; the others are those of the values."""
    return tuple(x._size[: x._n_sparse])


def compressed(
    layout: _core.layout, indices: Tensor, values: Tensor, size: Sequence[int], is_inside: bool
) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """Compressed and plain indices, and the values in their order, of COO indices, each once."""
    lines, sizes = (indices, size) if layout is CSR else (indices.flip(0), (size[1], size[0]))
    numbers = places(lines, sizes, is_inside)
    if not is_rising(numbers):
        order = numbers.argsort()
        lines, values = lines.index_select(1, order), values.index_select(0, order)
    return (starts_of(lines[0], sizes[0]), lines[1]), values


def found(numbers: Tensor, sorted_numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Where each number is in a sorted list, and whether it is there at all."""
    if sorted_numbers.numel() == 0:
        nowhere = facula.zeros_like(numbers)
        return nowhere, nowhere.to(facula.bool)
    where = facula.searchsorted(sorted_numbers, numbers).clamp(max=sorted_numbers.numel() - 1)
    return where, sorted_numbers[where] == numbers
