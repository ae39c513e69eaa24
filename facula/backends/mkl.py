"""Intel's MKL, which is not used: products and factorisations are OpenBLAS's and our own."""

from __future__ import annotations

__all__ = ["is_available", "verbose"]

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """Whether MKL is used: no.

    Example:
        >>> facula.backends.mkl.is_available()
        False
    """
    return False


class verbose:
    """A block in which MKL would say what it does.

    Args:
        enable: how much it would say.
    """

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *error: object) -> None:
        pass
