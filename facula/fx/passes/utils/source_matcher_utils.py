"""Nodes grouped by the function or module of the program that they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from facula.fx.graph import Graph
from facula.fx.node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes that come from one call.

    Args:
        nodes: the nodes.
        source: the function, or the class of the module, that was called.
        input_nodes: nodes outside that they use.
        output_nodes: those of them that nodes outside use.
        params: those of them that read attributes.
    """

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def get_source_partitions(
    graph: Graph,
    wanted_sources: list[Any],
    filter_fn: Callable[[Node], bool] | None = None,
) -> dict[Any, list[SourcePartition]]:
    """The groups of nodes that come from calls of some functions or modules.

    Args:
        graph: a graph whose nodes say where they come from: the last pair of
            ``node.meta["source_fn_stack"]`` is the name of a call, and what was called.
        wanted_sources: functions, and classes of modules.
        filter_fn: a function that must be true for all output nodes of a group.

    Returns:
        For each of them that has one a list of groups.

    Example:
        >>> from facula.fx.passes.utils.source_matcher_utils import get_source_partitions
        >>> graph = facula.fx.symbolic_trace(lambda x: x.exp().neg()).graph
        >>> x, exp, neg, output = graph.nodes
        >>> for node in (exp, neg):
        ...     node.meta["source_fn_stack"] = [("act", facula.nn.Softmax)]
        >>> get_source_partitions(graph, [facula.nn.Softmax])[facula.nn.Softmax][0].output_nodes
        [neg]
    """
    groups: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        stack = node.meta.get("source_fn_stack")
        if stack:
            name, source = stack[-1]
            groups.setdefault(source, {}).setdefault(name, []).append(node)
    found: dict[Any, list[SourcePartition]] = {}
    for source in wanted_sources:
        parts = [_partition(nodes, source) for nodes in groups.get(source, {}).values()]
        if filter_fn is not None:
            parts = [part for part in parts if all(map(filter_fn, part.output_nodes))]
        if parts:
            found[source] = parts
    return found


def _partition(nodes: list[Node], source: Any) -> SourcePartition:
    used = dict.fromkeys(x for node in nodes for x in node.all_input_nodes)
    return SourcePartition(
        nodes,
        source,
        [node for node in used if node not in nodes and node.op != "get_attr"],
        [node for node in nodes if any(user not in nodes for user in node.users)],
        [node for node in nodes if node.op == "get_attr"],
    )


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether one group uses a result of another.

    Args:
        subgraph1: the group that gives the result.
        subgraph2: the group that uses it.

    Example:
        >>> from facula.fx.passes.utils import source_matcher_utils as matcher
        >>> x, exp, neg, _ = facula.fx.symbolic_trace(lambda x: x.exp().neg()).graph.nodes
        >>> first = matcher.SourcePartition([exp], "exp", [x], [exp])
        >>> second = matcher.SourcePartition([neg], "neg", [exp], [neg])
        >>> matcher.check_subgraphs_connected(first, second)
        True
    """
    return any(node in subgraph1.nodes for node in subgraph2.input_nodes)
