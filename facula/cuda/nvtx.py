"""Marks for profilers of NVIDIA.

Ranges are kept for their numbers alone: nothing is sent to a profiler. What runs inside them can be
seen with :mod:`facula.profiler`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_open = threading.local()
_lock = threading.Lock()
_n_started = 0


def range_push(msg: str) -> int:
    """Opens a range inside those that are open, and returns how many there were.

    Args:
        msg: its name.

    Example:
        >>> facula.cuda.nvtx.range_push("step"), facula.cuda.nvtx.range_pop()
        (0, 0)
    """
    depth: int = getattr(_open, "depth", 0)
    _open.depth = depth + 1
    return depth


def range_pop() -> int:
    """Closes the innermost range, and returns how many are left; -2 where there was none.

    Example:
        >>> facula.cuda.nvtx.range_pop()
        -2
    """
    depth: int = getattr(_open, "depth", 0)
    if depth == 0:
        return -2
    _open.depth = depth - 1
    return depth - 1


def range_start(msg: str) -> int:
    """Opens a range that may be closed by any thread.

    Args:
        msg: its name.

    Returns:
        A number for :func:`range_end`.
    """
    global _n_started
    with _lock:
        _n_started += 1
        return _n_started


def range_end(range_id: int) -> None:
    """Closes a range of :func:`range_start`.

    Args:
        range_id: its number.
    """


def mark(msg: str) -> None:
    """Marks a moment.

    Args:
        msg: its name.
    """


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block that is a range; also a decorator of a function.

    Args:
        msg: its name, in which ``{}`` stand for the other arguments.
        args: what is put into the name.
        kwargs: what is put into the name where it says ``{name}``.

    Example:
        >>> with facula.cuda.nvtx.range("step {}", 3):
        ...     pass
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
