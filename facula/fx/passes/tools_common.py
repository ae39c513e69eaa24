"""Small tools that passes share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import facula
from facula.fx._names import qualified_name
from facula.fx.graph import Graph
from facula.fx.graph_module import GraphModule
from facula.fx.node import Node

__all__ = [
    "CALLABLE_NODE_OPS",
    "get_node_target",
    "is_node_output_tensor",
    "legalize_graph",
    "stable_topological_sort",
]

Tensors = tuple[facula.Tensor, ...] | list[facula.Tensor]
TensorOrTensors = facula.Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_function", "call_method", "call_module"}


def get_node_target(submodules: Mapping[str, facula.nn.Module], node: Node) -> str:
    """What a node calls, as a text: the class of a module, the path of a function, a method.

    Args:
        submodules: the modules of the root by path.
        node: a node that calls something.

    Example:
        >>> from facula.fx.passes.tools_common import get_node_target
        >>> traced = facula.fx.symbolic_trace(lambda x: facula.relu(x))
        >>> get_node_target({}, list(traced.graph.nodes)[1])
        'facula.relu'
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(
            f"Expect op types of {', '.join(sorted(CALLABLE_NODE_OPS))}, but found {node.op}"
        )
    if node.op == "call_module":
        module = submodules[str(node.target)]
        return f"{type(module).__module__}.{type(module).__name__}"
    return qualified_name(node.target) if callable(node.target) else node.target


def is_node_output_tensor(node: Node) -> bool:
    """Whether the result of a node is a tensor; shapes must have been propagated.

    Args:
        node: the node.
    """
    kind: Any = node.meta.get("type")
    return kind is not None and issubclass(kind, facula.Tensor)


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Bring the nodes into an order in which each comes after those that it uses.

    Args:
        gm: the module whose graph is sorted.

    Example:
        >>> from facula.fx.passes.tools_common import legalize_graph
        >>> traced = facula.fx.symbolic_trace(lambda x: x.neg().abs())
        >>> x, neg, abs_, output = traced.graph.nodes
        >>> abs_.append(neg)
        >>> list(legalize_graph(traced).graph.nodes)
        [x, neg, abs_1, output]
    """
    nodes = list(gm.graph.nodes)
    missing = {node: len(node.all_input_nodes) for node in nodes}
    ready = [node for node in nodes if not missing[node]]
    order: list[Node] = []
    for node in ready:  # grows while it is walked
        order.append(node)
        for user in node.users:
            missing[user] -= 1
            if not missing[user]:
                ready.append(user)
    if len(order) < len(nodes):
        stuck = [node.name for node in nodes if missing[node]]
        raise RuntimeError(f"Input graph has cycles, unable to add {stuck}")
    _reorder(gm.graph, order)
    return gm


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """As :func:`legalize_graph`; nodes that are in order already stay where they are.

    Args:
        gm: the module whose graph is sorted.
    """
    pending = list(gm.graph.nodes)
    order: dict[Node, None] = {}
    while pending:
        waiting = []
        for node in pending:
            if all(used in order for used in node.all_input_nodes):
                order[node] = None
            else:
                waiting.append(node)
        if len(waiting) == len(pending):
            raise RuntimeError(f"Input graph has cycles, unable to add {waiting}")
        pending = waiting
    _reorder(gm.graph, list(order))
    return gm


def _reorder(graph: Graph, order: list[Node]) -> None:
    # The output stays last, whatever became ready after it.
    outputs = [node for node in order if node.op == "output"]
    for node in [n for n in order if n.op != "output"] + outputs:
        graph._root.prepend(node)
