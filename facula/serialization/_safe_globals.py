"""Types that the user allows in checkpoints, beyond those that every checkpoint may have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from facula.serialization._torch_names import torch_name

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"]

SafeGlobal = Callable[..., Any] | tuple[Callable[..., Any], str]

_allowed: list[SafeGlobal] = []


def add_safe_globals(safe_globals: Sequence[SafeGlobal]) -> None:
    """Let :func:`facula.load` make objects of these types, and call these functions.

    Args:
        safe_globals: classes and functions; or pairs of one and the full name that files know it
            by.

    Example:
        >>> from fractions import Fraction
        >>> facula.serialization.add_safe_globals([Fraction])
        >>> facula.serialization.get_safe_globals()
        [<class 'fractions.Fraction'>]
        >>> facula.serialization.clear_safe_globals()
    """
    for item in safe_globals:
        _full_name(item)  # what has no name is refused here, not at the next load
        if item not in _allowed:
            _allowed.append(item)


def get_safe_globals() -> list[SafeGlobal]:
    """What :func:`add_safe_globals` was given."""
    return list(_allowed)


def clear_safe_globals() -> None:
    """Forget what :func:`add_safe_globals` was given."""
    _allowed.clear()


class safe_globals:
    """Allow types within a ``with`` block only.

    Args:
        safe_globals: classes and functions; or pairs of one and the full name that files know it
            by.

    Example:
        >>> from fractions import Fraction
        >>> with facula.serialization.safe_globals([Fraction]):
        ...     len(facula.serialization.get_safe_globals())
        1
        >>> facula.serialization.get_safe_globals()
        []
    """

    def __init__(self, safe_globals: Sequence[SafeGlobal]) -> None:
        self._given = safe_globals
        self._before: list[SafeGlobal] = []

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._given)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _allowed[:] = self._before


def allowed_by_name() -> dict[str, Any]:
    """What the user allows, by the names that files have."""
    return {_full_name(item): item[0] if isinstance(item, tuple) else item for item in _allowed}


def _full_name(item: SafeGlobal) -> str:
    if isinstance(item, tuple):
        if len(item) != 2 or not callable(item[0]) or not isinstance(item[1], str):
            raise ValueError(
                f"add_safe_globals: expected a pair of a class and its name, got {item!r}."
            )
        return item[1]
    if not callable(item) or not hasattr(item, "__qualname__"):
        raise TypeError(f"add_safe_globals: expected classes and functions, got {item!r}.")
    return ".".join(torch_name(item) or (item.__module__, item.__qualname__))
