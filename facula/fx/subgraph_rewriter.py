"""Parts of a graph that look like a pattern, replaced by something else."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from facula.fx._symbolic_trace import symbolic_trace
from facula.fx.graph import Graph
from facula.fx.graph_module import GraphModule, _assign_attr, _get_attr, _has_attr
from facula.fx.node import Node
from facula.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from facula.nn import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

_Pattern = Callable[..., Any] | Graph | GraphModule
_Filter = Callable[[InternalMatch, Graph, Graph], bool]


class Match(NamedTuple):
    """A part of a graph that a pattern fits."""

    # The node of the pattern that is returned, and for each of its nodes the one of the graph.
    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A part of a graph that was replaced.

    Args:
        anchor: the node of the pattern that is returned.
        nodes_map: for each node of the pattern the one of the graph.
        replacements: the nodes that were added.
    """

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | GraphModule,
    replacement: Callable[..., Any] | GraphModule,
) -> list[Match]:
    """Replace all parts of a graph that a pattern fits.

    Both are functions, or modules, of the same parameters. Parameters of the pattern fit anything.
    What the pattern computes on the way to its result must not be used outside of it.

    Args:
        gm: the module whose graph is changed.
        pattern: what is looked for.
        replacement: what takes its place.

    Example:
        >>> traced = facula.fx.symbolic_trace(lambda x: facula.relu(x.neg()) * 2)
        >>> def pattern(x):
        ...     return facula.relu(x)
        >>> def replacement(x):
        ...     return x.clamp(min=0)
        >>> len(facula.fx.replace_pattern(traced, pattern, replacement))
        1
        >>> print(traced.code.strip())
        def forward(self, x):
            neg = x.neg();  x = None
            clamp = neg.clamp(min = 0);  neg = None
            mul = clamp * 2;  clamp = None
            return mul
    """
    replaced = _replace_pattern(gm, pattern, replacement)
    return [Match(each.anchor, each.nodes_map) for each in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: _Pattern,
    replacement: _Pattern | None = None,
    match_filters: list[_Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """As :func:`replace_pattern`, where functions decide which parts are replaced, or by what.

    Args:
        gm: the module whose graph is changed.
        pattern: what is looked for.
        replacement: what takes its place; None if ``replacement_callback`` says that.
        match_filters: functions of a match, the graph and the pattern; all must say True.
        ignore_literals: whether numbers and other values may differ from the pattern's.
        replacement_callback: a function of the same three that gives the graph to put in place.
        node_name_match: a text that the names of nodes must have in them.

    Example:
        >>> from facula.fx.subgraph_rewriter import replace_pattern_with_filters
        >>> traced = facula.fx.symbolic_trace(lambda x: (x + 1) * (x + 2))
        >>> replaced = replace_pattern_with_filters(
        ...     traced, lambda x: x + 0, lambda x: x.neg(), ignore_literals=True
        ... )
        >>> [each.replacements for each in replaced]
        [[neg], [neg_1]]
    """
    return _replace_pattern(
        gm,
        pattern,
        replacement,
        match_filters,
        ignore_literals,
        replacement_callback,
        node_name_match,
    )


def _graph_of(pattern: _Pattern) -> Graph:
    if isinstance(pattern, GraphModule):
        return pattern.graph
    return pattern if isinstance(pattern, Graph) else symbolic_trace(pattern).graph


def _replace_pattern(
    gm: GraphModule,
    pattern: _Pattern,
    replacement: _Pattern | None = None,
    match_filters: list[_Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    graph = gm.graph
    pattern_graph = _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    matches = [
        match
        for match in matcher.match(graph, node_name_match)
        if all(accepts(match, graph, pattern_graph) for accepts in match_filters or ())
    ]
    if replacement is not None:
        common: Graph | None = _graph_of(replacement)
    elif replacement_callback is None:
        raise AssertionError("Must provide either a replacement or a replacement_callback")
    else:
        common = None
    # A node that a match refers to may have been replaced by the match before it.
    renewed: dict[Node, Node] = {}
    done = []
    for match in matches:
        new = common
        if new is None and replacement_callback is not None:
            new = replacement_callback(match, graph, pattern_graph)
        if new is None:
            raise AssertionError("replacement_callback must give a Graph.")
        done.append(_replace_one(graph, match, new, renewed))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_attributes(gm, replacement)
    return done


def _replace_one(
    graph: Graph, match: InternalMatch, new: Graph, renewed: dict[Node, Node]
) -> ReplacedPatterns:
    inputs = [node for node in new.nodes if node.op == "placeholder"]
    if len(inputs) != len(match.placeholder_nodes):
        raise AssertionError(
            f"replace_pattern: expected a replacement of {len(match.placeholder_nodes)} inputs, as "
            f"the pattern has, got {len(inputs)}."
        )
    values: dict[Node, Any] = {}
    for node, value in zip(inputs, match.placeholder_nodes, strict=True):
        values[node] = renewed.get(value, value) if isinstance(value, Node) else value
        for key in [k for k, v in match.nodes_map.items() if v is value]:
            match.nodes_map[key] = values[node]
    with graph.inserting_before(_first_user(graph, match)):
        result = graph.graph_copy(new, values)
    returned = result if isinstance(result, (list, tuple)) else [result]
    outputs = [node for node in returned if isinstance(node, Node)]
    if len(outputs) != len(match.returning_nodes):
        raise AssertionError(
            f"replace_pattern: expected a replacement of {len(match.returning_nodes)} results, as "
            f"the pattern has, got {len(outputs)}."
        )
    for old, output in zip(match.returning_nodes, outputs, strict=True):
        old.replace_all_uses_with(output)
        renewed[old] = output
    _erase(graph, match)
    added = [values[node] for node in new.nodes if node in values and node not in inputs]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, added)


def _first_user(graph: Graph, match: InternalMatch) -> Node:
    """Where the replacement goes: before the first node that uses what is replaced."""
    users = {user for node in match.returning_nodes for user in node.users}
    users -= {node for node in match.nodes_map.values() if isinstance(node, Node)}
    given = [node for node in match.placeholder_nodes if isinstance(node, Node)]
    first = min(users, default=None, key=graph._place)
    if first is None or any(first < node for node in given):
        last = max([*match.returning_nodes, *given], key=graph._place)
        return last.next
    return first


def _erase(graph: Graph, match: InternalMatch) -> None:
    matched = [
        node
        for pattern_node, node in match.nodes_map.items()
        if pattern_node.op not in ("placeholder", "output")
    ]
    for node in sorted(matched, key=graph._place, reverse=True):
        graph.erase_node(node)


def _take_attributes(gm: GraphModule, replacement: Module) -> None:
    """Give the module what the replacement reads and calls, and drop what nobody uses now."""
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        target = str(node.target)
        if not _has_attr(gm, target):
            if not _has_attr(replacement, target):
                raise RuntimeError(
                    f"Attempted to call {target!r}, which neither the module nor the replacement "
                    "has."
                )
            _assign_attr(copy.deepcopy(_get_attr(replacement, target)), gm, target)
    gm.delete_all_unused_submodules()
    gm.graph.lint()
