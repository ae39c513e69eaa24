"""Checks that tracers can record, or that devices could do later."""

from __future__ import annotations

from typing import Any

from facula import _core


def _assert(condition: Any, message: str) -> None:
    """Raise an AssertionError unless the condition holds.

    Unlike the statement ``assert``, it is recorded by :mod:`facula.fx`, and runs under ``-O`` too.

    Args:
        condition: what must be true.
        message: what the error says.
    """
    if _core._has_torch_function(condition):
        _core._handle_torch_function(_assert, (condition,), (condition, message), {})
    elif not condition:
        raise AssertionError(message)


def _assert_async(input: _core.Tensor, assert_msg: str | None = None) -> None:
    """Raise unless a tensor of one element is not zero."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


_assert.__module__ = "facula"
