"""Errors of processes that a launcher has started."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["record"]


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """A main function whose errors a launcher would collect: the function itself.

    Args:
        fn: the function.
        error_handler: what collects the errors.
    """
    return fn
