"""NNPACK, which is not used."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["flags", "is_available", "set_flags"]

_is_enabled = False


def is_available() -> bool:
    """Whether NNPACK is used: no.

    Example:
        >>> facula.backends.nnpack.is_available()
        False
    """
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Keep the switch; returns what it was."""
    global _is_enabled
    before, _is_enabled = _is_enabled, _enabled
    return (before,)


@contextlib.contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """A block with another switch, which changes nothing.

    Args:
        enabled: the switch.
    """
    before = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(*before)
