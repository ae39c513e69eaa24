"""cuDNN is not used: its switches are there for the scripts that set them."""

from __future__ import annotations

__all__ = ["allow_tf32", "benchmark", "deterministic", "enabled", "is_available", "version"]

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether convolutions and recurrent layers run in cuDNN: no.

    Example:
        >>> facula.backends.cudnn.is_available()
        False
    """
    return False


def version() -> int | None:
    """The version of cuDNN in use: none.

    Example:
        >>> facula.backends.cudnn.version() is None
        True
    """
    return None
