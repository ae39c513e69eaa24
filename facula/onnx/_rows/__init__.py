"""The table of translations: one row, a function, for one operation of the core.

A row is found by the operation's name without underscores around it, so forms in place and private
ones share the row of the public name. It is called with a :class:`~facula.onnx._writer.Writer` and
the operation's own arguments, with :class:`~facula.onnx._writer.Value` for tensors and
:class:`~facula.onnx._writer.SizeValue` for sizes of dynamic dimensions, and gives the name of the
result, or a list of names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Row = Callable[..., Any]
_Row = TypeVar("_Row", bound=Row)
ROWS: dict[str, Row] = {}


def row(*names: str) -> Callable[[_Row], _Row]:
    """Make a function the translation of operations of these names."""

    def add(function: _Row) -> _Row:
        ROWS.update(dict.fromkeys(names, function))
        return function

    return add


def row_name(name: str) -> str:
    """The name under which an operation's row is found."""
    is_special = name.startswith("__") or "." in name
    return name if is_special else name.strip("_")


from facula.onnx._rows import index, linalg, nn, pointwise, reduce, shape  # noqa: E402, F401
