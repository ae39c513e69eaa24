"""Whether mixed precision can run on a GPU."""

from facula import cuda

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether there is no GPU that mixed precision could run on.

    Example:
        >>> facula.cuda.amp.amp_definitely_not_available() == (not facula.cuda.is_available())
        True
    """
    return not cuda.is_available()
