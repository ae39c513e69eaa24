"""What is known of the node that is being run, for the nodes that are made from it.

While an interpreter traces a graph again, :func:`preserve_node_meta` hands the ``meta`` of the
nodes that run to the nodes that are recorded.
"""

from __future__ import annotations

import enum
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from facula.fx.node import Node

__all__ = [
    "NodeSource",
    "NodeSourceAction",
    "annotate",
    "annotate_fn",
    "format_stack",
    "get_current_meta",
    "get_current_replay_node",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_current_replay_node",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _State(threading.local):
    def __init__(self) -> None:
        self.meta: dict[str, Any] = {}
        self.is_preserving = False
        self.replayed: Node | None = None


_state = _State()


class NodeSourceAction(enum.Enum):
    """How a node came from another."""

    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """Where a node comes from: another node, and the pass that made one from the other.

    Args:
        node: the node it comes from; None if a pass made it of nothing.
        pass_name: the name of the pass.
        action: how it came about, or several ways.
    """

    def __init__(
        self,
        node: Node | None,
        pass_name: str = "",
        action: NodeSourceAction | list[NodeSourceAction] | None = None,
    ) -> None:
        self.pass_name = pass_name
        actions = action if isinstance(action, list) else [action] if action else []
        self.action = actions
        self.name = node.name if node is not None else ""
        self.target = str(node.target) if node is not None else ""
        self.graph_id = id(node.graph) if node is not None else -1
        self.from_node: list[NodeSource] = list(node.meta.get("from_node", ())) if node else []

    def __repr__(self) -> str:
        return f"(name={self.name}, pass_name={self.pass_name}, action={self.action})"


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Within the context, nodes that are made get the ``meta`` of the node that runs.

    Args:
        enable: whether they do.

    Example:
        >>> import facula.fx.traceback as fx_traceback
        >>> with fx_traceback.preserve_node_meta(), fx_traceback.annotate({"stage": 1}):
        ...     graph = facula.fx.Tracer().trace(lambda x: x + 1)
        >>> graph.output_node().meta["custom"]
        {'stage': 1}
    """
    before = _state.is_preserving, dict(_state.meta)
    _state.is_preserving = enable
    try:
        yield
    finally:
        _state.is_preserving, _state.meta = before


def has_preserved_node_meta() -> bool:
    """Whether :func:`preserve_node_meta` is active."""
    return _state.is_preserving


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Within the context, nodes that are made have these entries in ``meta["custom"]``.

    They do so inside of :func:`preserve_node_meta`.

    Args:
        annotation_dict: the entries.
    """
    before = _state.meta.get("custom")
    _state.meta["custom"] = {**(before or {}), **annotation_dict}
    try:
        yield
    finally:
        if before is None:
            _state.meta.pop("custom", None)
        else:
            _state.meta["custom"] = before


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[_Function], _Function]:
    """A decorator: the function runs inside of :func:`annotate`.

    Args:
        annotation_dict: the entries.
    """
    import functools

    def decorate(func: _Function) -> _Function:
        @functools.wraps(func)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return func(*args, **kwargs)

        return annotated  # type: ignore[return-value]

    return decorate


def set_stack_trace(stack: list[str]) -> None:
    """Set the lines that nodes get as their stack trace.

    Args:
        stack: the lines.
    """
    if _state.is_preserving and stack:
        _state.meta["stack_trace"] = "".join(stack)


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Set the number of the operation of which a derivative is being traced.

    Args:
        seq_nr: the number.
    """
    if _state.is_preserving:
        _state.meta["grad_fn_seq_nr"] = [*_state.meta.get("grad_fn_seq_nr", []), seq_nr]
        _state.meta["in_grad_fn"] = _state.meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    """Undo the last :func:`set_grad_fn_seq_nr`."""
    level = _state.meta.get("in_grad_fn", 0)
    if not _state.is_preserving or not level:
        return
    if level == 1:
        del _state.meta["in_grad_fn"], _state.meta["grad_fn_seq_nr"]
    else:
        _state.meta["in_grad_fn"] = level - 1
        _state.meta["grad_fn_seq_nr"] = _state.meta["grad_fn_seq_nr"][:-1]


def format_stack() -> list[str]:
    """The lines of the node that runs, or those of the caller if there is none."""
    if _state.is_preserving:
        return [_state.meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Within the context, nodes that are made come from ``node``.

    Args:
        node: the node that runs.
        pass_name: the name of the pass that runs it.
    """
    if not (_state.is_preserving and node.meta):
        yield
        return
    before = _state.meta
    _state.meta = {**node.meta, "from_node": [NodeSource(node, pass_name, NodeSourceAction.CREATE)]}
    try:
        yield
    finally:
        _state.meta = before


def get_current_meta() -> dict[str, Any]:
    """What nodes that are made get inside of :func:`preserve_node_meta`."""
    return _state.meta


@contextmanager
def set_current_replay_node(node: Node | None) -> Iterator[None]:
    """Within the context, ``node`` is the one that :func:`get_current_replay_node` gives.

    Args:
        node: the node.
    """
    before, _state.replayed = _state.replayed, node
    try:
        yield
    finally:
        _state.replayed = before


def get_current_replay_node() -> Node | None:
    """The node that is being run again, if there is one."""
    return _state.replayed
