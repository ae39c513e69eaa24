"""The switch of PyTorch's path for attention in evaluation."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_is_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether transformers in evaluation may clear results at padding, as that path does.

    Example:
        >>> facula.backends.mha.get_fastpath_enabled()
        True
    """
    return _is_enabled


def set_fastpath_enabled(value: bool) -> None:
    """Choose what :func:`get_fastpath_enabled` says."""
    global _is_enabled
    _is_enabled = value
