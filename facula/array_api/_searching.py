"""The standard's chapters of searching, sorting and set functions."""

from __future__ import annotations

from typing import Literal, NamedTuple

import facula
from facula import _core
from facula._core import Tensor
from facula.array_api._data_types import Number, operands, promoted

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "nonzero",
    "searchsorted",
    "sort",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "where",
]


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the greatest element, the first of them.

    Args:
        x: the tensor.
        axis: the dimension to search; the flattened tensor if left out.
        keepdims: whether the dimensions that were searched stay, with size 1.

    Example:
        >>> facula.array_api.argmax(facula.tensor([[1, 5], [3, 2]]), axis=0)
        tensor([1, 0])
    """
    if axis is None and keepdims:
        return _core.argmax(x).reshape((1,) * x.ndim)
    return _core.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the smallest element, the first of them.

    Args:
        x: the tensor.
        axis: the dimension to search; the flattened tensor if left out.
        keepdims: whether the dimensions that were searched stay, with size 1.

    Example:
        >>> facula.array_api.argmin(facula.tensor([[1, 5], [3, 2]]), axis=0)
        tensor([0, 1])
    """
    if axis is None and keepdims:
        return _core.argmin(x).reshape((1,) * x.ndim)
    return _core.argmin(x, axis, keepdims)


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The places of the elements in sorted order.

    Args:
        x: the tensor.
        axis: the dimension along which to sort.
        descending: whether the greatest come first.
        stable: whether equal elements keep their order.

    Example:
        >>> facula.array_api.argsort(facula.tensor([3, 1, 2]))
        tensor([1, 2, 0])
    """
    return _core.argsort(x, axis, descending, stable)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The places of the elements that are not zero, one tensor for each dimension.

    Args:
        x: the tensor, of one dimension or more.

    Example:
        >>> facula.array_api.nonzero(facula.tensor([[0, 7], [8, 0]]))
        (tensor([0, 1]), tensor([1, 0]))
    """
    if x.ndim == 0:
        raise ValueError("nonzero: expected a tensor of one dimension or more, got none.")
    return tuple(facula.nonzero(x, as_tuple=True))


def searchsorted(
    x1: Tensor,
    x2: Tensor,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Tensor | None = None,
) -> Tensor:
    """The places at which elements would have to be put in to keep the order.

    Args:
        x1: a vector in ascending order.
        x2: the elements.
        side: whether they come before equal ones or after them.
        sorter: the order of ``x1``, as from ``argsort``, if it is not sorted itself.

    Example:
        >>> facula.array_api.searchsorted(facula.tensor([1, 3, 5]), facula.tensor([3, 6]))
        tensor([1, 3])
    """
    x1, x2 = promoted((x1, x2))
    return _core.searchsorted(x1.contiguous(), x2.contiguous(), side=side, sorter=sorter)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in sorted order.

    Args:
        x: the tensor.
        axis: the dimension along which to sort.
        descending: whether the greatest come first.
        stable: whether equal elements keep their order.

    Example:
        >>> facula.array_api.sort(facula.tensor([3, 1, 2]), descending=True)
        tensor([3, 2, 1])
    """
    values: Tensor = _core.sort(x, dim=axis, descending=descending, stable=stable)[0]
    return values


class _UniqueAll(NamedTuple):
    """What ``unique_all`` returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class _UniqueCounts(NamedTuple):
    """What ``unique_counts`` returns."""

    values: Tensor
    counts: Tensor


class _UniqueInverse(NamedTuple):
    """What ``unique_inverse`` returns."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> _UniqueAll:
    """The distinct elements, where each is first, where each element is among them, how often.

    Args:
        x: the tensor, taken as flattened. A NaN differs from every other.

    Example:
        >>> unique = facula.array_api.unique_all(facula.tensor([3, 1, 3]))
        >>> unique.values, unique.indices
        (tensor([1, 3]), tensor([1, 0]))
        >>> unique.inverse_indices, unique.counts
        (tensor([1, 0, 1]), tensor([1, 2]))
    """
    flat = x.reshape(-1)
    order = _order(flat)
    in_order = flat[order]
    is_new = _core.ones_like(order, dtype=_core.bool)
    is_new[1:] = in_order[1:] != in_order[:-1]
    inverse = _core.empty_like(order)
    inverse[order] = _core.cumsum(is_new, 0) - 1
    # Each value's elements begin at one place in the order and end where the next begin.
    begins = is_new.nonzero().reshape(-1)
    counts = facula.diff(begins, append=begins.new_tensor([flat.numel()]))
    # Equal ones stay as they are in x, so that the first of them is the first there, too.
    return _UniqueAll(in_order[begins], order[begins], inverse.reshape(x.shape), counts)


def _order(flat: Tensor) -> Tensor:
    if not flat.dtype.is_complex:
        return _core.argsort(flat, stable=True)
    order = _core.argsort(flat.imag, stable=True)
    return order[_core.argsort(flat.real[order], stable=True)]


def unique_counts(x: Tensor, /) -> _UniqueCounts:
    """The distinct elements, and how often each is there.

    Args:
        x: the tensor, taken as flattened. A NaN differs from every other.

    Example:
        >>> facula.array_api.unique_counts(facula.tensor([3, 1, 3])).counts
        tensor([1, 2])
    """
    unique = unique_all(x)
    return _UniqueCounts(unique.values, unique.counts)


def unique_inverse(x: Tensor, /) -> _UniqueInverse:
    """The distinct elements, and where each element is among them.

    Args:
        x: the tensor, taken as flattened. A NaN differs from every other.

    Example:
        >>> facula.array_api.unique_inverse(facula.tensor([3, 1, 3])).inverse_indices
        tensor([1, 0, 1])
    """
    unique = unique_all(x)
    return _UniqueInverse(unique.values, unique.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct elements.

    Args:
        x: the tensor, taken as flattened. A NaN differs from every other.

    Example:
        >>> facula.array_api.unique_values(facula.tensor([3, 1, 3]))
        tensor([1, 3])
    """
    return unique_all(x).values


def where(condition: Tensor, x1: Tensor | Number, x2: Tensor | Number, /) -> Tensor:
    """Elements of one tensor where a condition is true, of another where it is not.

    Args:
        condition: True for an element of ``x1``, False for one of ``x2``.
        x1: a tensor whose shape broadcasts with the others, or a number if ``x2`` is a tensor.
        x2: a tensor whose shape broadcasts with the others, or a number if ``x1`` is a tensor.

    Example:
        >>> facula.array_api.where(facula.tensor([True, False]), facula.tensor([1, 2]), 0)
        tensor([1, 0])
    """
    chosen: Tensor = _core.where(condition, *operands(x1, x2))
    return chosen
