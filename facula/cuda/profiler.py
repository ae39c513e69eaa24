"""The switch of NVIDIA's profilers; programs that use it run, and nothing is recorded.

What runs on the GPU can be seen with :mod:`facula.profiler`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Tells a profiler to begin; none listens.

    Example:
        >>> facula.cuda.profiler.start()
    """


def stop() -> None:
    """Tells a profiler to end; none listens.

    Example:
        >>> facula.cuda.profiler.stop()
    """


@contextmanager
def profile() -> Iterator[None]:
    """A block for a profiler; none listens.

    Example:
        >>> with facula.cuda.profiler.profile():
        ...     pass
    """
    start()
    try:
        yield
    finally:
        stop()
