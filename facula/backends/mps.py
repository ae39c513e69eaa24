"""Apple's GPUs are not supported; this says so to the scripts that ask."""

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Whether tensors can be moved to an Apple GPU: no.

    Example:
        >>> facula.backends.mps.is_available()
        False
    """
    return False


def is_built() -> bool:
    """Whether the package was built for Apple GPUs: no.

    Example:
        >>> facula.backends.mps.is_built()
        False
    """
    return False
