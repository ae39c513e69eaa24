"""The random numbers of GPUs."""

from __future__ import annotations

from facula import _core
from facula.cuda._devices import is_available

__all__ = [
    "manual_seed",
    "manual_seed_all",
]


def manual_seed(seed: int) -> None:
    """Seeds the random numbers of the GPU; does nothing where there is no GPU.

    They come from the one generator of the library, which is seeded for the CPU as well.

    Example:
        >>> facula.cuda.manual_seed(0)
    """
    if is_available():
        _core.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds the random numbers of all GPUs; does nothing where there is no GPU.

    Example:
        >>> facula.cuda.manual_seed_all(0)
    """
    manual_seed(seed)
