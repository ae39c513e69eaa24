"""oneDNN, which is not used: kernels of our own compute convolutions and products.

The switches are attributes, kept for the scripts that set them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = [
    "allow_tf32",
    "deterministic",
    "enabled",
    "flags",
    "is_acl_available",
    "is_available",
    "set_flags",
    "verbose",
]

enabled = False
deterministic = False
allow_tf32 = False
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2


def is_available() -> bool:
    """Whether oneDNN is used: no.

    Example:
        >>> facula.backends.mkldnn.is_available()
        False
    """
    return False


def is_acl_available() -> bool:
    """Whether Arm's library is used: no."""
    return False


def set_flags(
    _enabled: bool = False, _deterministic: bool | None = None, _allow_tf32: bool | None = None
) -> tuple[bool, bool, bool]:
    """Set all switches; returns what they were."""
    global enabled, deterministic, allow_tf32
    before = enabled, deterministic, allow_tf32
    enabled = _enabled
    deterministic = deterministic if _deterministic is None else _deterministic
    allow_tf32 = allow_tf32 if _allow_tf32 is None else _allow_tf32
    return before


@contextlib.contextmanager
def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, **others: object
) -> Iterator[None]:
    """A block with other switches, which change nothing.

    Args:
        enabled, deterministic, allow_tf32: the switches.
        others: accepted for compatibility.
    """
    before = set_flags(enabled, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*before)


class verbose:
    """A block in which oneDNN would say what it does.

    Args:
        level: how much it would say.
    """

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *error: object) -> None:
        pass
