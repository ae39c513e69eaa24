"""Apple's GPUs are not supported; this says so to the scripts that ask."""

from facula._refusing import refusing

__all__ = [
    "get_core_count",
    "get_name",
    "is_available",
    "is_built",
    "is_macos13_or_newer",
    "is_macos_or_newer",
]


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


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether the GPU's system is of this version or newer: there is none.

    Args:
        major, minor: the version.
    """
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether the GPU's system is macOS 13 or newer: there is none.

    Args:
        minor: the second part of the version.
    """
    return False


_NO_GPU = "there is no Apple GPU to ask."
get_name = refusing("torch.backends.mps.get_name", _NO_GPU)
get_core_count = refusing("torch.backends.mps.get_core_count", _NO_GPU)
