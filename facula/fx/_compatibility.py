"""PyTorch's mark for names that stay as they are from version to version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")

_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """A decorator that gives what it is given; packages mark functions of theirs with it.

    Args:
        is_backward_compatible: whether the name stays as it is.
    """

    def mark(fn: _T) -> _T:
        _MARKED_WITH_COMPATIBILITY.setdefault(fn)
        return fn

    return mark
