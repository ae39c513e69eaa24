"""Sets that keep the order in which things were added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet
from typing import TypeVar

__all__ = ["OrderedSet"]

_T = TypeVar("_T")


class OrderedSet(MutableSet[_T]):
    """A set that keeps the order in which things were added.

    Args:
        iterable: things to begin with.

    Example:
        >>> from facula.utils._ordered_set import OrderedSet
        >>> list(OrderedSet([3, 1, 3, 2]))
        [3, 1, 2]
    """

    def __init__(self, iterable: Iterable[_T] | None = None) -> None:
        self._dict = dict.fromkeys(iterable if iterable is not None else ())

    def __contains__(self, item: object) -> bool:
        return item in self._dict

    def __iter__(self) -> Iterator[_T]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def add(self, value: _T) -> None:
        """Put a thing last, if it is not there.

        Args:
            value: the thing.
        """
        self._dict[value] = None

    def discard(self, value: _T) -> None:
        """Take a thing away, if it is there.

        Args:
            value: the thing.
        """
        self._dict.pop(value, None)

    def update(self, other: Iterable[_T]) -> None:
        """Add many things.

        Args:
            other: the things.
        """
        self._dict.update(dict.fromkeys(other))

    def __repr__(self) -> str:
        return f"OrderedSet({list(self)})"
