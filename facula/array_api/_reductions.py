"""The standard's chapters of statistical and utility functions: what is computed along axes.

Without an axis all dimensions are reduced; an empty tuple reduces none, as NumPy does, where
PyTorch takes it for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import facula
from facula import _core
from facula._core import Tensor
from facula.array_api._data_types import DType

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

Axis: TypeAlias = "int | tuple[int, ...] | None"


def axes_of(x: Tensor, axis: Axis) -> list[int]:
    """The axes, counted from the first dimension and in order."""
    if axis is None:
        return list(range(x.ndim))
    axes = (axis,) if isinstance(axis, int) else axis
    for each in axes:
        if not -x.ndim <= each < x.ndim:
            raise IndexError(f"expected an axis of {tuple(x.shape)}, got {each}.")
    return sorted(each % x.ndim for each in axes)


def _reduced(
    operation: Callable[..., Tensor], x: Tensor, axis: Axis, keepdims: bool, **options: Any
) -> Tensor:
    dims = axes_of(x, axis)
    if not dims:
        return operation(x.unsqueeze(-1), dim=-1, **options)
    return operation(x, dim=dims, keepdim=keepdims, **options)


def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether all elements are true.

    Args:
        x: the tensor.
        axis: the dimension or dimensions to reduce; all if left out.
        keepdims: whether these stay, with size 1.

    Example:
        >>> facula.array_api.all(facula.tensor([[True, False], [True, True]]), axis=1)
        tensor([False,  True])
    """
    return _reduced(_core.all, x.to(_core.bool), axis, keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether any element is true.

    Args:
        x: the tensor.
        axis: the dimension or dimensions to reduce; all if left out.
        keepdims: whether these stay, with size 1.

    Example:
        >>> facula.array_api.any(facula.tensor([[True, False], [False, False]]), axis=1)
        tensor([ True, False])
    """
    return _reduced(_core.any, x.to(_core.bool), axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """How many elements are not zero.

    Args:
        x: the tensor.
        axis: the dimension or dimensions to reduce; all if left out.
        keepdims: whether these stay, with size 1.

    Example:
        >>> facula.array_api.count_nonzero(facula.tensor([1, 0, 2]))
        tensor(2)
    """
    return _reduced(_core.sum, x != 0, axis, keepdims)


def _cumulative(
    operation: Callable[..., Tensor],
    first: int,
    x: Tensor,
    axis: int | None,
    dtype: DType | None,
    include_initial: bool,
) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"expected axis for a tensor of {x.ndim} dimensions, got None.")
        axis = 0
    result = operation(x, axis, dtype=dtype)
    if not include_initial:
        return result
    shape = list(result.shape)
    shape[axis] = 1
    return _core.cat([result.new_full(shape, first), result], axis)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Each element's product with all before it.

    Args:
        x: the tensor.
        axis: the dimension; it may be left out if the tensor has just one.
        dtype: the dtype of the result; that of ``sum`` if left out.
        include_initial: whether a 1 comes first.

    Example:
        >>> facula.array_api.cumulative_prod(facula.tensor([1, 2, 3]), include_initial=True)
        tensor([1, 1, 2, 6])
    """
    return _cumulative(_core.cumprod, 1, x, axis, dtype, include_initial)


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Each element's sum with all before it.

    Args:
        x: the tensor.
        axis: the dimension; it may be left out if the tensor has just one.
        dtype: the dtype of the result; that of ``sum`` if left out.
        include_initial: whether a 0 comes first.

    Example:
        >>> facula.array_api.cumulative_sum(facula.tensor([1, 2, 3]), include_initial=True)
        tensor([0, 1, 3, 6])
    """
    return _cumulative(_core.cumsum, 0, x, axis, dtype, include_initial)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours.

    Args:
        x: the tensor.
        axis: the dimension.
        n: how many times differences are taken.
        prepend: what stands before the first elements.
        append: what stands after the last ones.

    Example:
        >>> facula.array_api.diff(facula.tensor([1, 4, 9]))
        tensor([3, 5])
    """
    return facula.diff(x, n, axis, prepend, append)


def max(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The greatest element, NaN if there is one.

    Args:
        x: the tensor.
        axis: the dimension or dimensions to reduce; all if left out.
        keepdims: whether these stay, with size 1.

    Example:
        >>> facula.array_api.max(facula.tensor([[1, 5], [3, 2]]), axis=0)
        tensor([3, 5])
    """
    return _reduced(_core.amax, x, axis, keepdims)


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean of the elements.

    Args:
        x: the tensor.
        axis: the dimension or dimensions to reduce; all if left out.
        keepdims: whether these stay, with size 1.

    Example:
        >>> facula.array_api.mean(facula.tensor([[1.0, 5.0], [3.0, 2.0]]), axis=0)
        tensor([2.0000, 3.5000])
    """
    return _reduced(_core.mean, x, axis, keepdims)


def min(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The smallest element, NaN if there is one.

    Args:
        x: the tensor.
        axis: the dimension or dimensions to reduce; all if left out.
        keepdims: whether these stay, with size 1.

    Example:
        >>> facula.array_api.min(facula.tensor([[1, 5], [3, 2]]), axis=0)
        tensor([1, 2])
    """
    return _reduced(_core.amin, x, axis, keepdims)


def prod(
    x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """The product of the elements.

    Args:
        x: the tensor.
        axis: the dimension or dimensions to reduce; all if left out.
        dtype: the dtype of the result; int64 for integers if left out, else the tensor's.
        keepdims: whether these stay, with size 1.

    Example:
        >>> facula.array_api.prod(facula.tensor([[1, 5], [3, 2]]), axis=0)
        tensor([ 3, 10])
    """
    dims = axes_of(x, axis)
    if not dims:
        return _core.prod(x.unsqueeze(-1), -1, dtype=dtype)
    for dim in reversed(dims):
        x = _core.prod(x, dim, keepdims, dtype=dtype)
    return x


def std(
    x: Tensor, /, *, axis: Axis = None, correction: int | float = 0.0, keepdims: bool = False
) -> Tensor:
    """The standard deviation of the elements.

    Args:
        x: the tensor.
        axis: the dimension or dimensions to reduce; all if left out.
        correction: what is taken from the number of elements before it divides: 1 for a sample.
        keepdims: whether these stay, with size 1.

    Example:
        >>> facula.array_api.std(facula.tensor([1.0, 3.0]))
        tensor(1.)
    """
    return _reduced(_core.std, x, axis, keepdims, correction=correction)


def sum(
    x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """The sum of the elements.

    Args:
        x: the tensor.
        axis: the dimension or dimensions to reduce; all if left out.
        dtype: the dtype of the result; int64 for integers if left out, else the tensor's.
        keepdims: whether these stay, with size 1.

    Example:
        >>> facula.array_api.sum(facula.tensor([[1, 5], [3, 2]]), axis=0)
        tensor([4, 7])
    """
    return _reduced(_core.sum, x, axis, keepdims, dtype=dtype)


def var(
    x: Tensor, /, *, axis: Axis = None, correction: int | float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance of the elements.

    Args:
        x: the tensor.
        axis: the dimension or dimensions to reduce; all if left out.
        correction: what is taken from the number of elements before it divides: 1 for a sample.
        keepdims: whether these stay, with size 1.

    Example:
        >>> facula.array_api.var(facula.tensor([1.0, 3.0]), correction=1)
        tensor(2.)
    """
    return _reduced(_core.var, x, axis, keepdims, correction=correction)
