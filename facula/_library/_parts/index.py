"""Rules of ``x[...]``: views by numbers and slices, then tensors of indices."""

from __future__ import annotations

import operator
from types import EllipsisType, NoneType
from typing import Any

import facula
from facula._core import Tensor
from facula._library._parts import aten, rule_of


@rule_of("__getitem__")
def _getitem(dispatch: Any, self: Tensor, index: Any) -> Any:
    items = _index_items(self, index)
    if items is None:
        return NotImplemented
    view, indices = _view_at(dispatch, self, items)
    if indices is not None:
        return dispatch(aten("index", "Tensor"), view, indices)
    return dispatch(aten("alias"), view) if view is self else view


@rule_of("__setitem__")
def _setitem(dispatch: Any, self: Tensor, index: Any, value: Any) -> Any:
    items = _index_items(self, index)
    if items is None:
        return NotImplemented
    values = value
    if not isinstance(value, Tensor):
        try:
            values = facula.tensor(value, dtype=self.dtype, device=self.device)
        except (TypeError, ValueError, RuntimeError):
            return NotImplemented  # which says what is expected
    view, indices = _view_at(dispatch, self, items)
    if indices is not None:
        dispatch(aten("index_put_"), view, indices, _without_leading_ones(values, 0))
    elif isinstance(value, (int, float, complex)):
        view.fill_(value)
    else:
        view.copy_(_without_leading_ones(values, view.dim()))
    return None


def _without_leading_ones(x: Tensor, n_dims: int) -> Tensor:
    """A (1, 3) value as one of shape (3,), which fits a place of so many dimensions."""
    first = 0
    while x.dim() - first > n_dims and x.size(first) == 1:
        first += 1
    return x.view(x.shape[first:]) if first else x


_NO_NUMBERS = (Tensor, slice, EllipsisType, NoneType, list, tuple)


def _index_items(self: Tensor, index: Any) -> tuple[Any, ...] | None:
    """The parts of an index, sequences in it as tensors; None where it is no index."""
    # A short list that holds more than numbers is a tuple of indices, as it is in the core.
    is_several = isinstance(index, tuple) or (
        isinstance(index, list)
        and len(index) < 32
        and any(isinstance(item, _NO_NUMBERS) for item in index)
    )
    items = tuple(index) if is_several else (index,)
    try:
        return tuple(_index_item(self, item) for item in items)
    except (TypeError, ValueError, RuntimeError):
        return None


def _index_item(self: Tensor, item: Any) -> Any:
    if item is None or isinstance(item, (Tensor, slice, EllipsisType)):
        return item
    is_number = hasattr(item, "__index__") and not hasattr(item, "__len__")  # no array
    if is_number and not isinstance(item, bool):
        return operator.index(item)
    part = facula.tensor(item, device=self.device)
    return part.long() if part.numel() == 0 and part.is_floating_point() else part


def _view_at(
    dispatch: Any, self: Tensor, items: tuple[Any, ...]
) -> tuple[Tensor, list[Tensor | None] | None]:
    """The view of numbers, slices and None, and the tensors of indices that are left."""
    skipped = self.dim() - sum(_n_dims(item) for item in items)
    view, dim = self, 0
    indices: list[Tensor | None] = []
    for item in items:
        if item is Ellipsis:
            dim += skipped
            indices += [None] * skipped
            skipped = 0  # a second one stands for nothing
        elif item is None:
            view = view.unsqueeze(dim)
            dim += 1
            indices.append(None)
        elif isinstance(item, slice):
            step = 1 if item.step is None else item.step
            start, stop, _ = item.indices(view.size(dim))
            if (start, stop, step) != (0, view.size(dim), 1):
                end = 2**63 - 1 if item.stop is None else item.stop
                steps = () if step == 1 else (step,)
                first = 0 if item.start is None else item.start
                view = dispatch(aten("slice", "Tensor"), view, dim, first, end, *steps)
            dim += 1
            indices.append(None)
        elif isinstance(item, int):
            view = dispatch(aten("select", "int"), view, dim, item)
        else:
            dim += _n_dims(item)
            indices.append(item)
    while indices and indices[-1] is None:
        indices.pop()
    return view, indices or None


def _n_dims(item: Any) -> int:
    """How many dimensions an index stands for."""
    if item is None or item is Ellipsis:
        return 0
    is_mask = isinstance(item, Tensor) and item.dtype in (facula.bool, facula.uint8)
    return item.dim() if is_mask else 1
