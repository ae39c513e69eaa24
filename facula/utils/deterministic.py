"""A switch of :func:`facula.use_deterministic_algorithms`."""

from __future__ import annotations

__all__ = ["fill_uninitialized_memory"]

# Whether ``empty`` would be filled with NaN where the same bits are asked for; it never is.
fill_uninitialized_memory = True
