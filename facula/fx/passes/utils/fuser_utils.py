"""Nodes of a graph that become one node: the call of a module that has them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from facula.fx.graph import Graph
from facula.fx.graph_module import GraphModule
from facula.fx.node import Node
from facula.fx.passes.tools_common import stable_topological_sort
from facula.fx.passes.utils.common import lift_subgraph_as_module

__all__ = [
    "erase_nodes",
    "fuse_as_graphmodule",
    "fuse_by_partitions",
    "insert_subgm",
    "topo_sort",
    "validate_partition",
]


def topo_sort(nodes: Iterable[Node]) -> list[Node]:
    """Nodes in an order in which each comes after those of them that it uses.

    Args:
        nodes: the nodes.

    Example:
        >>> from facula.fx.passes.utils.fuser_utils import topo_sort
        >>> x, neg, abs_, output = facula.fx.symbolic_trace(lambda x: x.neg().abs()).graph.nodes
        >>> topo_sort([abs_, neg])
        [neg, abs_1]
    """
    inside = dict.fromkeys(nodes)
    missing = {node: sum(used in inside for used in node.all_input_nodes) for node in inside}
    order = [node for node in inside if not missing[node]]
    for node in order:  # grows while it is walked
        for user in node.users:
            if user in inside:
                missing[user] -= 1
                if not missing[user]:
                    order.append(user)
    if len(order) < len(inside):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return order


def validate_partition(partition: Iterable[Node]) -> bool:
    """Whether nodes can become one: no other node lies between two of them.

    Args:
        partition: the nodes.

    Example:
        >>> from facula.fx.passes.utils.fuser_utils import validate_partition
        >>> graph = facula.fx.symbolic_trace(lambda x: x.neg().abs().exp()).graph
        >>> x, neg, abs_, exp, output = graph.nodes
        >>> validate_partition([neg, abs_]), validate_partition([neg, exp])
        (True, False)
    """
    inside = set(partition)
    waiting = [user for node in inside for user in node.users if user not in inside]
    seen = set(waiting)
    while waiting:
        for user in waiting.pop().users:
            if user in inside:
                return False
            if user not in seen:
                seen.add(user)
                waiting.append(user)
    return True


def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: Sequence[Node],
    module_name: str,
    partition_lookup_table: dict[Node, int | None] | None = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """A module that does what some nodes do; the graph stays as it is.

    Args:
        gm: the module whose graph has the nodes.
        nodes: the nodes, each after those that it uses.
        module_name: the name of the new module's class.
        partition_lookup_table: the nodes as the keys of a dict, if there is one already.
        always_return_tuple: whether one result is given as a tuple too.

    Returns:
        The new module, the nodes that it needs as inputs, and those that it gives as outputs.

    Example:
        >>> from facula.fx.passes.utils.fuser_utils import fuse_as_graphmodule
        >>> traced = facula.fx.symbolic_trace(lambda x: x.neg().abs().exp())
        >>> x, neg, abs_, exp, output = traced.graph.nodes
        >>> part, inputs, outputs = fuse_as_graphmodule(traced, [neg, abs_], "Part")
        >>> part(facula.tensor(3.0)), inputs, outputs
        (tensor(3.), (x,), (abs_1,))
    """
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(
                f"{node} doesn't belong to passed in graph module {gm._get_name()}"
            )
        if node.graph is not gm.graph:
            raise AssertionError(f"{node} is not found in graph module {gm._get_name()}")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    inside = dict.fromkeys(nodes) if partition_lookup_table is None else partition_lookup_table
    graph = Graph()
    inputs: dict[Node, Node] = {}  # each node from outside, and what stands for it
    copies: dict[Node, Node] = {}

    def inner(node: Node) -> Node:
        if node in copies:
            return copies[node]
        if node not in inputs:
            inputs[node] = graph.placeholder(node.name, type_expr=node.type)
            inputs[node].meta = dict(node.meta)
        return inputs[node]

    for node in nodes:
        copies[node] = graph.node_copy(node, inner)
    outputs = {
        node: copies[node] for node in nodes if any(user not in inside for user in node.users)
    }
    results = tuple(outputs.values())
    graph.output(results if always_return_tuple or len(results) > 1 else (*results, None)[0])
    for placeholder in reversed(inputs.values()):
        graph._root.append(placeholder)
    graph.lint()
    part, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return part, tuple(inputs), tuple(outputs)


def insert_subgm(
    gm: GraphModule,
    sub_gm: GraphModule,
    orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...],
    insertion_point: Node | None = None,
) -> GraphModule:
    """Let a graph call a module, and use its results in the place of some nodes.

    Args:
        gm: the module whose graph is changed.
        sub_gm: the module that is called; it becomes a part of ``gm``, named as its class.
        orig_inputs: the nodes that are its arguments.
        orig_outputs: the nodes whose results it gives.
        insertion_point: the node after which it is called, by default at the end; sort the graph
            then, with ``legalize_graph``.
    """
    call_instead(gm, type(sub_gm).__name__, sub_gm, orig_inputs, orig_outputs, insertion_point)
    return gm


def call_instead(
    gm: GraphModule,
    name: str,
    sub_gm: GraphModule,
    orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...],
    insertion_point: Node | None = None,
) -> dict[Node, Node]:
    """:func:`insert_subgm` with a name for the part; returns the new node for each old one."""
    gm.add_submodule(name, sub_gm)
    where = gm.graph.output_node() if insertion_point is None else insertion_point.next
    with gm.graph.inserting_before(where):
        call = gm.graph.call_module(name, args=orig_inputs)
        if len(orig_outputs) == 1 and not _gives_tuple(sub_gm):
            news = [call]
        else:
            news = [
                gm.graph.call_function(operator.getitem, (call, i))
                for i in range(len(orig_outputs))
            ]
    replaced = dict(zip(orig_outputs, news, strict=True))
    for old, new in replaced.items():
        old.replace_all_uses_with(new, propagate_meta=True)
    return replaced


def _gives_tuple(module: GraphModule) -> bool:
    return isinstance(module.graph.output_node().args[0], tuple)


def erase_nodes(gm: GraphModule, nodes: Sequence[Node]) -> None:
    """Erase nodes that only they themselves use.

    Args:
        gm: the module whose graph has them.
        nodes: the nodes, each after those that it uses.
    """
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule,
    partitions: Iterable[dict[Node, int | None]],
    prefix: str = "fused_",
    always_return_tuple: bool = False,
) -> GraphModule:
    """Put each of several groups of nodes into a module of its own, which the graph then calls.

    Args:
        gm: the module whose graph is changed.
        partitions: the groups: dicts whose keys are nodes.
        prefix: the beginning of the modules' names; their number is the end.
        always_return_tuple: whether one result is given as a tuple too.

    Example:
        >>> from facula.fx.passes.utils.fuser_utils import fuse_by_partitions
        >>> traced = facula.fx.symbolic_trace(lambda x: x.neg().abs().exp())
        >>> x, neg, abs_, exp, output = traced.graph.nodes
        >>> fused = fuse_by_partitions(traced, [{neg: None, abs_: None}])
        >>> list(fused.graph.nodes), fused(facula.tensor(0.0))
        ([x, fused_0, exp, output], tensor(1.))
    """
    for number, partition in enumerate(partitions):
        nodes = topo_sort(partition)
        part, inputs, outputs = fuse_as_graphmodule(
            gm, nodes, f"{prefix}{number}", partition, always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, part, inputs, outputs)
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    gm.recompile()
    return gm
