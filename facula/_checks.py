"""Checks that raise an error with a message that is built only then: ``torch._check`` and kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from facula._core import Tensor
from facula._warnings import warn_user

_Message: TypeAlias = Callable[[], Any] | None


def _check_with(error_type: type[Exception], cond: bool, message: _Message = None) -> None:
    """Raise an error of a type unless the condition holds.

    Args:
        error_type: the type of the error.
        cond: what must be true: a bool, no tensor.
        message: called for the text of the error.
    """
    if isinstance(cond, Tensor):
        raise TypeError(
            "_check: cond must be a bool, but got a Tensor. torch._check_tensor_all asks for all "
            "elements of one."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"_check: cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type("Expected cond to be True, but got False.")
    if not callable(message):
        raise TypeError("_check: message must be a callable that returns the text")
    raise error_type(str(message()))


def _check(cond: bool, message: _Message = None) -> None:
    """Raise a RuntimeError unless the condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: _Message = None) -> None:
    """Raise an IndexError unless the condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: _Message = None) -> None:
    """Raise a ValueError unless the condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: _Message = None) -> None:
    """Raise a TypeError unless the condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: _Message = None) -> None:
    """Raise a NotImplementedError unless the condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: _Message = None, *, max: int | None = None) -> None:
    """Raise a RuntimeError unless a number can be a size, at most ``max`` where that is given."""
    warn_user("_check_is_size is deprecated: use _check(i >= 0).", FutureWarning)
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all_with(
    error_type: type[Exception], cond: Tensor, message: _Message = None
) -> None:
    """Raise an error of a type unless all elements of a tensor of bools are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"_check_tensor_all: cond must be a tensor, but got {type(cond)}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond: Tensor, message: _Message = None) -> None:
    """Raise a RuntimeError unless all elements of a tensor of bools are true."""
    _check_tensor_all_with(RuntimeError, cond, message)
