"""Parts of a graph that look like another graph."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import facula
from facula.fx.graph import Graph
from facula.fx.node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """A part of a graph that a pattern fits.

    Args:
        anchors: the nodes of the pattern that it returns.
        nodes_map: for each node of the pattern the one of the graph; for an input it may be a
            number or another value.
        placeholder_nodes: what the inputs of the pattern stand for, in their order.
        returning_nodes: what the nodes that the pattern returns stand for, in their order.
        name_node_map: kept for programs that fill it.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors,
            dict(self.nodes_map),
            list(self.placeholder_nodes),
            list(self.returning_nodes),
            dict(self.name_node_map),
        )


class SubgraphMatcher:
    """Finds the parts of graphs that a pattern fits.

    Args:
        pattern: the pattern. Its inputs fit anything; two of them never fit the same node.
        match_output: whether its output must fit the output of the graph.
        match_placeholder: whether its inputs must fit inputs.
        remove_overlapping_matches: whether a node belongs to one match only, the first.
        ignore_literals: whether numbers and other values may differ.

    Example:
        >>> from facula.fx.passes.utils.matcher_utils import SubgraphMatcher
        >>> pattern = facula.fx.symbolic_trace(lambda x: facula.relu(x) + 1).graph
        >>> graph = facula.fx.symbolic_trace(lambda x: (facula.relu(x.neg()) + 1) * 2).graph
        >>> [match.returning_nodes for match in SubgraphMatcher(pattern).match(graph)]
        [[add]]
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        if not pattern.nodes:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users and node.op != "placeholder":
                raise AssertionError(
                    f"SubgraphMatcher: node {node} of the pattern is not used for its result."
                )
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        output = pattern.output_node()
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        self.pattern_returning_nodes: list[Node] = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else list(self.pattern_returning_nodes)

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The matches in a graph, in its order.

        Args:
            graph: the graph.
            node_name_match: a text that the names of nodes must have in them.
        """
        found = []
        for start in self._candidates(graph, self.pattern_anchors[0], node_name_match):
            match = InternalMatch(anchors=self.pattern_anchors)
            first = self.pattern_anchors[0]
            if not self._match_nodes(first, start, match, node_name_match):
                continue
            found += list(self._with_other_anchors(graph, match, 1, node_name_match))
        found = [match for match in found if self._is_contained(match.nodes_map)]
        for match in found:
            match.placeholder_nodes = [
                match.nodes_map[node]
                for node in self.pattern_placeholder_nodes
                if node in match.nodes_map
            ]
            match.returning_nodes = [match.nodes_map[n] for n in self.pattern_returning_nodes]
        return self._without_overlaps(found) if self.remove_overlapping_matches else found

    def _candidates(self, graph: Graph, anchor: Node, node_name_match: str) -> list[Node]:
        return [n for n in graph.nodes if self._nodes_are_equal(anchor, n, node_name_match)]

    def _with_other_anchors(
        self, graph: Graph, match: InternalMatch, index: int, node_name_match: str
    ) -> Iterator[InternalMatch]:
        """Ways to go on with the nodes of the pattern that are returned beside the first."""
        if index == len(self.pattern_anchors):
            yield match
            return
        anchor = self.pattern_anchors[index]
        if anchor in match.nodes_map:
            yield from self._with_other_anchors(graph, match, index + 1, node_name_match)
            return
        for start in self._candidates(graph, anchor, node_name_match):
            trial = copy.copy(match)
            if self._match_nodes(anchor, start, trial, node_name_match):
                yield from self._with_other_anchors(graph, trial, index + 1, node_name_match)

    def _match_nodes(
        self, pn: Node, gn: Node, match: InternalMatch, node_name_match: str = ""
    ) -> bool:
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if any(gn is taken for taken in match.nodes_map.values()):
            return False
        if not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        before = dict(match.nodes_map)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        fits = (
            self._match_args(pn.args, gn.args, match)
            and list(pn.kwargs) == list(gn.kwargs)
            and all(self._match_args(pn.kwargs[k], gn.kwargs[k], match) for k in pn.kwargs)
        )
        if not fits:
            match.nodes_map = before
        return fits

    def _match_args(self, p: Any, g: Any, match: InternalMatch) -> bool:
        if isinstance(p, Node):
            if isinstance(g, Node):
                return self._match_nodes(p, g, match)
            return self._match_literal_input(p, g, match)
        if isinstance(p, (list, tuple)):
            return (
                isinstance(g, (list, tuple))
                and len(p) == len(g)
                and all(self._match_args(a, b, match) for a, b in zip(p, g, strict=True))
            )
        if isinstance(p, dict):
            return (
                isinstance(g, dict)
                and list(p) == list(g)
                and all(self._match_args(p[key], g[key], match) for key in p)
            )
        if isinstance(g, Node):
            return False
        return self.ignore_literals or (type(p) is type(g) and bool(p == g))

    def _match_literal_input(self, p: Node, g: Any, match: InternalMatch) -> bool:
        """An input of the pattern fits a number, and always the same one."""
        if p.op != "placeholder" or self.match_placeholder:
            return False
        if p in match.nodes_map:
            return bool(match.nodes_map[p] == g)
        match.nodes_map[p] = g
        return True

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        if pn.op == "placeholder" and not self.match_placeholder:
            return True
        if node_name_match and node_name_match not in gn.name:
            return False
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        if pn.op == "get_attr":
            return _same_kind(_attribute(pn), _attribute(gn))
        return pn.target == gn.target

    def _is_contained(self, nodes_map: dict[Node, Any]) -> bool:
        """Whether nodes inside of a match are used inside of it only: they would be missed."""
        inside = {id(gn) for pn, gn in nodes_map.items() if pn.op != "placeholder"}
        returned = set(self.pattern_returning_nodes)
        return all(
            id(user) in inside
            for pn, gn in nodes_map.items()
            if pn.op != "placeholder" and pn not in returned
            for user in gn.users
        )

    def _without_overlaps(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        taken: set[Node] = set()
        kept = []
        for match in matches:
            own = {
                gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")
            }
            if not own & taken:
                taken |= own
                kept.append(match)
        return kept


def _attribute(node: Node) -> Any:
    value: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        value = getattr(value, part, None)
    return value


def _same_kind(a: Any, b: Any) -> bool:
    if isinstance(a, facula.Tensor):
        return isinstance(b, facula.Tensor)
    return type(a) is type(b)
