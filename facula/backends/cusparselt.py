"""cuSPARSELt, which is not used."""

from __future__ import annotations

__all__ = ["get_max_alg_id", "is_available", "version"]


def is_available() -> bool:
    """Whether cuSPARSELt is used: no.

    Example:
        >>> facula.backends.cusparselt.is_available()
        False
    """
    return False


def version() -> int | None:
    """Its version: None."""
    return None


def get_max_alg_id() -> int | None:
    """The number of its algorithms: None."""
    return None
