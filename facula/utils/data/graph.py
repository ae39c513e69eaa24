"""Which pipes a pipe is made of."""

from __future__ import annotations

from typing import Any

from facula.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

_Graph = dict[int, tuple[Any, Any]]


def traverse_dps(datapipe: Any) -> _Graph:
    """The pipes that a pipe holds in its attributes, and those that they hold.

    Args:
        datapipe: the last pipe.

    Example:
        >>> from facula.utils.data.datapipes.iter import IterableWrapper
        >>> from facula.utils.data.graph import traverse_dps
        >>> pipe = IterableWrapper([1, 2]).map(str)
        >>> graph = traverse_dps(pipe)
        >>> [(type(p).__name__, len(parts)) for p, parts in graph.values()]
        [('Mapper', 1)]
    """
    return _graph_of(datapipe, set())


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> _Graph:
    """An older name of :func:`traverse_dps`.

    Args:
        datapipe: the last pipe.
        only_datapipe: accepted for compatibility.
    """
    return traverse_dps(datapipe)


def _graph_of(pipe: Any, seen: set[int]) -> _Graph:
    if id(pipe) in seen:  # a circle
        return {}
    parts: _Graph = {}
    for part in _pipes_in(list(vars(pipe).values()), set()):
        parts.update(_graph_of(part, seen | {id(pipe)}))
    return {id(pipe): (pipe, parts)}


def _pipes_in(value: Any, seen: set[int]) -> list[Any]:
    """The pipes of an attribute, which may be a container or an object that holds them."""
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        return [value]
    if id(value) in seen:
        return []
    seen.add(id(value))
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = list(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, type) or not hasattr(value, "__dict__"):
        return []
    else:
        parts = list(vars(value).values())
    return [pipe for part in parts for pipe in _pipes_in(part, seen)]
