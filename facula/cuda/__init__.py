"""NVIDIA GPUs: whether there is one to use, and why not."""

from facula import _core

__all__ = ["is_available", "unavailable_reason"]


def is_available() -> bool:
    """Whether tensors can be moved to an NVIDIA GPU.

    Example:
        >>> isinstance(facula.cuda.is_available(), bool)
        True
    """
    return not _core._cuda_unavailable_reason()


def unavailable_reason() -> str:
    """Why :func:`is_available` is False; empty if it is True.

    Example:
        >>> bool(facula.cuda.unavailable_reason()) == (not facula.cuda.is_available())
        True
    """
    return _core._cuda_unavailable_reason()
