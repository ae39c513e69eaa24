"""Marks for functions and tensors, which leave them as they are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from facula.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    set_stance,
    substitute_in_graph,
)

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "disable",
    "disallow_in_graph",
    "error_on_graph_break",
    "forbid_in_graph",
    "graph_break",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "run",
    "set_stance",
    "skip_frame",
    "substitute_in_graph",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def disallow_in_graph(fn: _Function) -> _Function:
    """A function that a compiler would call from Python: the function itself."""
    return fn


def forbid_in_graph(fn: _Function) -> _Function:
    """A function that a compiler would refuse: the function itself."""
    return fn


def nonstrict_trace(traceable_fn: _Function) -> _Function:
    """A function that a compiler would trace otherwise: the function itself."""
    return traceable_fn


def run(fn: Any = None) -> Any:
    """A function without compiling more of it: the function itself."""
    return (lambda function: function) if fn is None else fn


def graph_break(msg: str = "") -> None:
    """End the graph of a compiler here; there is none."""


def skip_frame(msg: str = "") -> None:
    """Leave the function to Python, as all are."""


def mark_dynamic(t: Any, index: Any, **kwargs: Any) -> None:
    """Tell a compiler that a size may change; any size may change at each call here."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Tell a compiler that a size may change."""


def mark_static(t: Any, index: Any = None) -> None:
    """Tell a compiler that a size stays."""


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Tell a compiler that a tensor stays where it is in memory."""


@contextlib.contextmanager
def error_on_graph_break(error_on_graph_break: bool) -> Iterator[None]:
    """A block, or a decorator, in which graphs would have to be whole."""
    yield
