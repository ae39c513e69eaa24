"""AMD's MIOpen, which is not used; its switch is kept for the scripts that set it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["flags", "immediate", "set_flags"]

immediate = False


def set_flags(_immediate: bool) -> tuple[bool]:
    """Keep the switch; returns what it was."""
    global immediate
    before, immediate = immediate, _immediate
    return (before,)


@contextlib.contextmanager
def flags(immediate: bool = False) -> Iterator[None]:
    """A block with another switch, which changes nothing.

    Args:
        immediate: the switch.
    """
    before = set_flags(immediate)
    try:
        yield
    finally:
        set_flags(*before)
