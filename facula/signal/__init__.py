"""Processing of signals."""

from facula.signal import windows

__all__ = ["windows"]
