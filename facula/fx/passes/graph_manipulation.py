"""Targets of nodes replaced, and sizes of nodes in bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from facula import Tensor
from facula.fx.graph import Graph
from facula.fx.graph_module import GraphModule
from facula.fx.node import Node, map_aggregate
from facula.fx.passes.shape_prop import ShapeProp, TensorMetadata

__all__ = [
    "get_size_of_all_nodes",
    "get_size_of_node",
    "get_tensor_meta",
    "replace_target_nodes_with",
    "size_bytes",
]


class size_bytes(NamedTuple):
    """The sizes of a node in bytes: of its result, and with the parameters and buffers it uses."""

    output_size: int
    total_size: int


def replace_target_nodes_with(
    fx_module: GraphModule,
    old_op: str,
    old_target: Callable[..., Any] | str,
    new_op: str,
    new_target: Callable[..., Any] | str,
) -> None:
    """Let all nodes that call one thing call another, with the same arguments.

    Args:
        fx_module: the module, whose graph is replaced by a changed copy.
        old_op: the kind of the nodes: ``"call_function"`` and so on.
        old_target: what they call.
        new_op: the kind that they become.
        new_target: what they call then.

    Example:
        >>> from facula.fx.passes.graph_manipulation import replace_target_nodes_with
        >>> traced = facula.fx.symbolic_trace(lambda x: facula.relu(x))
        >>> replace_target_nodes_with(
        ...     traced, "call_function", facula.relu, "call_method", "neg"
        ... )
        >>> traced(facula.tensor(2.0))
        tensor(-2.)
    """
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in fx_module.graph.nodes:
        copy = graph.node_copy(node, copies.__getitem__)
        if node.op == old_op and node.target == old_target:
            copy.op, copy.target = new_op, new_target
        copies[node] = copy
    fx_module.graph = graph


def get_size_of_all_nodes(fx_module: GraphModule, args: list[Tensor] | None = None) -> None:
    """Give each node that computes an attribute ``size_bytes``, as of :func:`get_size_of_node`.

    Args:
        fx_module: the module.
        args: arguments, with which it is run to find the shapes; None if they are known.

    Example:
        >>> from facula.fx.passes.graph_manipulation import get_size_of_all_nodes
        >>> traced = facula.fx.symbolic_trace(facula.nn.Sequential(facula.nn.Linear(2, 3)))
        >>> get_size_of_all_nodes(traced, [facula.ones(4, 2)])
        >>> list(traced.graph.nodes)[1].size_bytes
        size_bytes(output_size=48, total_size=84)
    """
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op != "output":
            sized: Any = node
            sized.size_bytes = get_size_of_node(fx_module, node)


def get_tensor_meta(node: Node) -> Any:
    """What ``ShapeProp`` has found out about the result of a node.

    Args:
        node: the node.
    """
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(
            f"Node {node} has no tensor metadata associated with it! Check that shape propagation "
            "has run."
        )
    return meta


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The bytes of a node's result, and these with the parameters and buffers of its module.

    Args:
        fx_module: the module that the node belongs to.
        node: the node.
    """
    sizes: list[int] = []

    def add(meta: Any) -> Any:
        if isinstance(meta, TensorMetadata):
            sizes.append(meta.shape.numel() * meta.dtype.itemsize)
        return meta

    meta = get_tensor_meta(node)
    # A TensorMetadata is a tuple too, which map_aggregate would take apart.
    add(meta) if isinstance(meta, TensorMetadata) else map_aggregate(meta, add)
    parts: list[Tensor] = []
    if node.op == "call_module":
        module = fx_module.get_submodule(str(node.target))
        parts = [*module.parameters(), *module.buffers()]
    output = sum(sizes)
    return size_bytes(output, output + sum(part.nbytes for part in parts))
