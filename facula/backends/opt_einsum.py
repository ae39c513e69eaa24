"""The order in which ``einsum`` multiplies more than two tensors.

It is planned by our own search, so that the package ``opt_einsum`` is not needed. The switches are
attributes, kept for the scripts that set them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["enabled", "flags", "get_opt_einsum", "is_available", "set_flags", "strategy"]

enabled: bool | None = True
strategy: str | None = "auto"


def is_available() -> bool:
    """Whether an order is planned at all: yes.

    Example:
        >>> facula.backends.opt_einsum.is_available()
        True
    """
    return True


def get_opt_einsum() -> Any:
    """The package ``opt_einsum``, which is not used: None."""
    return None


def set_flags(
    _enabled: bool | None = None, _strategy: str | None = None
) -> tuple[bool | None, str | None]:
    """Keep the switches; returns what they were."""
    global enabled, strategy
    before = enabled, strategy
    enabled = enabled if _enabled is None else _enabled
    strategy = strategy if _strategy is None else _strategy
    return before


@contextlib.contextmanager
def flags(enabled: bool | None = None, strategy: str | None = None) -> Iterator[None]:
    """A block with other switches.

    Args:
        enabled: whether an order is planned.
        strategy: how.
    """
    before = set_flags(enabled, strategy)
    try:
        yield
    finally:
        set_flags(*before)
