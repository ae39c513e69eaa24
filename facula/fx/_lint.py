"""The checks of :meth:`facula.fx.Graph.lint`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import facula
from facula.fx.node import Node, map_arg

if TYPE_CHECKING:
    from facula.fx.graph import Graph


def check(graph: Graph) -> None:
    """See :meth:`facula.fx.Graph.lint`."""
    seen: set[Node] = set()
    names: set[str] = set()
    for node in graph.nodes:
        if node.graph is not graph:
            raise RuntimeError(f"Node '{node}' does not belong to this Graph!")

        def check_argument(arg: Node, user: Node = node) -> None:
            if arg.graph is not graph:
                raise RuntimeError(
                    f"Argument '{arg}' of Node '{user}' does not belong to this Graph, but was "
                    "used as an argument! If you are copying nodes from another graph, make sure "
                    "to use ``arg_transform`` on node_copy() to remap values"
                )
            if arg not in seen:
                raise RuntimeError(
                    f"Argument '{arg}' of Node '{user}' was used before it has been defined! "
                    f"Please check that Nodes in the graph are topologically ordered\n{graph}"
                )

        map_arg((node.args, node.kwargs), check_argument)
        seen.add(node)
        if node.name in names:
            raise RuntimeError(f"Node redefined name {node.name}!")
        names.add(node.name)
        for user in node.users:
            if user._erased:
                raise RuntimeError(f"User '{user}' of Node '{node}' was erased!")
    if graph.owning_module is not None:
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                _check_target(graph.owning_module, node)


def _check_target(root: Any, node: Node) -> None:
    value = root
    path: list[str] = []
    for part in str(node.target).split("."):
        if not hasattr(value, part):
            raise RuntimeError(
                f"Node {node} target {node.target} references nonexistent attribute {part} of "
                f"{'.'.join(path)}"
            )
        value = getattr(value, part)
        path.append(part)
    if node.op == "call_module" and not isinstance(value, facula.nn.Module):
        raise RuntimeError(
            f"Node {node} target {node.target} {'.'.join(path)} of {type(value).__name__} does not "
            "reference an nn.Module"
        )
