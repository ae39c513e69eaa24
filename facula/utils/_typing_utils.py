"""Functions for type checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["copy_func_params", "copy_func_sig", "copy_method_params", "not_none"]

_T = TypeVar("_T")


def not_none(obj: _T | None) -> _T:
    """The object, which is not None.

    Args:
        obj: anything but None, for which a TypeError is raised.
    """
    if obj is None:
        raise TypeError("Invariant encountered: value was None when it should not be")
    return obj


def copy_func_params(source_func: Any) -> Callable[[Any], Any]:
    """A decorator that tells type checkers of the parameters of another function.

    Args:
        source_func: the other function.
    """
    return lambda func: func


copy_func_sig = copy_method_params = copy_method_sig = copy_func_params
