"""Groups of nodes that somebody can run, as large as possible."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from facula.fx.graph_module import GraphModule
from facula.fx.node import Node
from facula.fx.passes.operator_support import OperatorSupportBase
from facula.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target
from facula.fx.passes.utils.fuser_utils import fuse_by_partitions
from facula.nn import Module

__all__ = ["CapabilityBasedPartitioner", "Partition"]

_GETITEM = "_operator.getitem"


class Partition:
    """A group of nodes.

    Args:
        id: its number.
        nodes: its nodes.
        node_orders: the places of the nodes, if they are known.

    Example:
        >>> from facula.fx.passes.infra.partitioner import Partition
        >>> x, neg, output = facula.fx.symbolic_trace(lambda x: x.neg()).graph.nodes
        >>> Partition(0, [neg]).size()
        1
    """

    def __init__(
        self,
        id: int | None = None,
        nodes: Iterable[Node] | None = None,
        node_orders: Iterable[int] | None = None,
    ) -> None:
        self.id = id
        own = list(nodes or ())
        places: list[int | None] = [None] * len(own) if node_orders is None else [*node_orders]
        self.nodes: dict[Node, int | None] = dict(zip(own, places, strict=True))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Add a node.

        Args:
            node: the node.
            node_order: its place.
        """
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        """Take a node out.

        Args:
            node: the node.
        """
        del self.nodes[node]

    def size(self) -> int:
        """How many nodes there are."""
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Finds groups of supported nodes, and makes a module of each.

    Args:
        graph_module: the module whose graph is divided.
        operator_support: says which nodes are supported.
        allows_single_node_partition: whether a group may have one node that computes.
        non_compute_ops: names of functions, as of ``get_node_target``, that do not compute.
        allowed_single_node_partition_ops: names of functions that may be alone.
        skip_horizontal_fusion: whether nodes join only groups that use their results.

    Example:
        >>> from facula.fx.passes.infra.partitioner import CapabilityBasedPartitioner
        >>> from facula.fx.passes.operator_support import OperatorSupport
        >>> traced = facula.fx.symbolic_trace(lambda x: (facula.relu(x) + 1).neg())
        >>> support = OperatorSupport({"facula.relu": None, "_operator.add": None})
        >>> fused = CapabilityBasedPartitioner(traced, support).partition_and_fuse()
        >>> list(fused.graph.nodes), fused(facula.tensor(2.0))
        ([x, fused_0, neg, output], tensor(-3.))
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        skip_horizontal_fusion: bool = False,
    ) -> None:
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = [] if non_compute_ops is None else non_compute_ops
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.skip_horizontal_fusion = skip_horizontal_fusion
        self._modules: Mapping[str, Module] = dict(graph_module.named_modules())

    def propose_partitions(self) -> list[Partition]:
        """Groups of supported nodes that can become one node each."""
        groups = _Groups()
        places = {node: place for place, node in enumerate(self.graph_module.graph.nodes)}
        # From the end: the groups that a node could join are those of the nodes that use it.
        for node in reversed(self.graph_module.graph.nodes):
            if node.op in ("placeholder", "output") or not self._is_node_supported(node):
                continue
            others = sorted(groups.members, key=groups.first_numbers.__getitem__)
            if self.skip_horizontal_fusion:
                users = {groups.of.get(user) for user in node.users}
                others = [other for other in others if other in users]
            own = groups.add(node)
            for other in others:
                own = groups.merge_if_possible(own, other)
        self._keep_tuples_with_their_elements(groups)
        return [
            Partition(number, nodes, [places[node] for node in nodes])
            for number, nodes in groups.members.items()
            if nodes and self._is_large_enough(nodes)
        ]

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(self._modules, node)

    def _keep_tuples_with_their_elements(self, groups: _Groups) -> None:
        """An element of a tuple is taken where the tuple is made, so that no tuple is passed on."""
        for node in self.graph_module.graph.nodes:
            for user in node.users:
                if self._target(user) == _GETITEM and user.args[0] is node:
                    groups.move(user, groups.of.get(node))

    def _is_large_enough(self, nodes: Iterable[Node]) -> bool:
        if self.allows_single_node_partition:
            return True
        idle = {*self.non_compute_ops, _GETITEM}
        computing = [
            node
            for node in nodes
            if node.op in CALLABLE_NODE_OPS and self._target(node) not in idle
        ]
        alone_allowed = self.allowed_single_node_partition_ops
        return len(computing) > 1 or any(self._target(node) in alone_allowed for node in computing)

    def _target(self, node: Node) -> str | None:
        return get_node_target(self._modules, node) if node.op == "call_function" else None

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """Make a module of each group; the graph then calls them.

        Args:
            partitions: the groups.
            prefix: the beginning of the modules' names.
        """
        return fuse_by_partitions(self.graph_module, [p.nodes for p in partitions], prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Take nodes that do not compute out of the beginning and the end of groups.

        Args:
            partitions: the groups, which are changed.
        """
        names = set(self.non_compute_ops)
        for partition in partitions:
            for follow in ("all_input_nodes", "users"):
                is_done = False
                while not is_done:
                    at_edge = [
                        node
                        for node in partition.nodes
                        if self._target(node) in names
                        and not any(other in partition.nodes for other in getattr(node, follow))
                    ]
                    for node in at_edge:
                        partition.remove_node(node)
                    is_done = not at_edge

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Find the groups, and make a module of each.

        Args:
            prefix: the beginning of the modules' names.
        """
        return self.fuse_partitions(self.propose_partitions(), prefix)


class _Groups:
    """Groups of nodes by number, none of which needs the results of one that needs its own."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self.members: dict[int, dict[Node, None]] = {}
        self.first_numbers: dict[int, int] = {}  # the lowest number that a group had
        self.of: dict[Node, int] = {}

    def add(self, node: Node) -> int:
        number = next(self._numbers)
        self.members[number] = {node: None}
        self.first_numbers[number] = number
        self.of[node] = number
        return number

    def move(self, node: Node, number: int | None) -> None:
        """Put a node into this group, or with None into no group."""
        old = self.of.pop(node, None)
        if old is not None:
            del self.members[old][node]
        if number is not None:
            self.members[number][node] = None
            self.of[node] = number

    def merge_if_possible(self, number: int, other: int) -> int:
        """Make one group of two, unless it would need itself; the first one's number afterwards."""
        both = self.members[number] | self.members[other]
        if self._comes_back(both):
            return number
        if len(self.members[other]) > len(self.members[number]):  # it keeps its number
            number, other = other, number
        for node in self.members.pop(other):
            self.of[node] = number
        self.members[number] = both
        lowest = min(self.first_numbers[number], self.first_numbers.pop(other))
        self.first_numbers[number] = lowest
        return number

    def _comes_back(self, nodes: dict[Node, None]) -> bool:
        """Whether a way along users leaves these nodes and enters them again.

        A node of another group stands for the whole group, which will be one node.
        """
        waiting: list[Any] = [user for node in nodes for user in node.users if user not in nodes]
        seen: set[Node] = set()
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            number = self.of.get(node)
            group = [node] if number is None else list(self.members[number])
            seen.update(group)
            for user in {user for member in group for user in member.users}:
                if user in nodes:
                    return True
                waiting.append(user)
        return False
