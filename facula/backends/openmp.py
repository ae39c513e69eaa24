"""OpenMP, which is not used: threads are those of a pool of our own."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether OpenMP is used: no.

    Example:
        >>> facula.backends.openmp.is_available()
        False
    """
    return False
