"""``fork`` and ``wait`` of functions in TorchScript, which in Python run at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from facula.futures import Future

__all__ = ["fork", "wait"]

_T = TypeVar("_T")


def fork(func: Callable[..., _T], *args: Any, **kwargs: Any) -> Future[_T]:
    """Call a function now, and give its result as a future.

    Args:
        func: what to call.
        args: its arguments without a name.
        kwargs: its arguments by name.

    Example:
        >>> future = facula.jit.fork(facula.add, facula.ones(2), 1)
        >>> facula.jit.wait(future)
        tensor([2., 2.])
    """
    future: Future[_T] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[_T]) -> _T:
    """The result of a future that :func:`fork` has given.

    Args:
        future: the future.
    """
    return future.wait()
