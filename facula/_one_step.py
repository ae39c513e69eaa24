"""Functions that :mod:`facula.fx` records as one step, whatever they do inside.

The list is here, and not in ``fx``, so that modules which mark functions need not import it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

# The globals in which a function of a name is called, by their id and that name.
marked: dict[tuple[int, str], dict[str, Any]] = {}


def one_step(function: _Function) -> _Function:
    """Mark a function at the top of a module; see :func:`facula.fx.wrap`."""
    namespace = function.__globals__
    marked[id(namespace), function.__name__] = namespace
    return function
