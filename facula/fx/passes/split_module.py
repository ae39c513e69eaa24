"""A graph cut into several modules, and one graph that calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import facula
from facula.fx.graph import Graph
from facula.fx.graph_module import GraphModule, _get_attr
from facula.fx.node import Node, map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """The nodes that become one module.

    Args:
        name: the name that the split function gave it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        # As keys, in the order in which they were met.
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.dependencies: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"name: {self.name},\n nodes: {self.node_names},\n inputs: {list(self.inputs)}"


def split_module(
    m: GraphModule,
    root_m: facula.nn.Module,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """Cut a graph into modules, called ``submod_0`` and so on, and a graph that calls them.

    Inputs, and parameters and buffers that are read, stay in the outer graph.

    Args:
        m: the module whose graph is cut.
        root_m: the module that it was traced from.
        split_callback: gives the number, or the name, of the part that a node belongs to.
        qualname_map: a dict that gets, for each module inside of a part, its old path.
        keep_original_order: whether the parts are called in the order of the nodes, rather than
            sorted by what they need.
        keep_original_node_name: whether nodes keep their names.
        keep_original_input_name: whether inputs of parts are named after the nodes they come from.
        partition_affix: is put into the names of the parts: ``submod_affix_0``.
        tuple_return: whether a part with one result returns a tuple, too.

    Example:
        >>> from facula.fx.passes.split_module import split_module
        >>> traced = facula.fx.symbolic_trace(lambda x: (x + 1).neg())
        >>> parts = {"add": 0, "neg": 1}
        >>> split = split_module(traced, facula.nn.Module(), lambda node: parts[node.name])
        >>> print(split.code.strip())
        def forward(self, x):
            submod_0 = self.submod_0(x);  x = None
            submod_1 = self.submod_1(submod_0);  submod_0 = None
            return submod_1
        >>> print(split.submod_1.code.strip())
        def forward(self, add):
            neg = add.neg();  add = None
            return neg
    """
    splitter = _Splitter(m, partition_affix, bool(keep_original_node_name), tuple_return)
    splitter.assign(split_callback)
    order = splitter.ordered(bool(keep_original_order))
    splitter.fill(qualname_map, keep_original_input_name)
    return splitter.outer(order, bool(keep_original_order))


class _Splitter:
    """The state of one cut."""

    def __init__(
        self, module: GraphModule, affix: str | None, keep_names: bool, tuple_return: bool
    ) -> None:
        self.module = module
        self.affix = affix
        self.keep_names = keep_names
        self.tuple_return = tuple_return
        self.partitions: dict[str, Partition] = {}
        self.partition_of: dict[Node, str] = {}

    def assign(self, split_callback: Callable[[Node], Any]) -> None:
        """Give each node to a part, and find what goes from one part to another."""
        nodes = self.module.graph.nodes
        for node in nodes:
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            name = str(split_callback(node))
            if name not in self.partitions:
                partition = self.partitions[name] = Partition(name)
                if self.affix is not None:
                    partition.submod_name = f"submod_{self.affix}_{name}"
            self.partition_of[node] = name
            self.partitions[name].node_names.append(node.name)
        for node in nodes:
            own = self.partition_of.get(node)
            for used in node.all_input_nodes:
                self._note_use(used, own)

    def _note_use(self, used: Node, user: str | None) -> None:
        definer = self.partition_of.get(used)
        if definer == user:
            return
        if definer is not None:
            self.partitions[definer].outputs.setdefault(used)
        if user is not None:
            self.partitions[user].inputs.setdefault(used)
            if definer is not None:
                self.partitions[user].dependencies.setdefault(definer)

    def ordered(self, keep_original_order: bool) -> list[str]:
        """The names of the parts, so that each comes after those it needs."""
        remaining = {name: set(p.dependencies) for name, p in self.partitions.items()}
        order: list[str] = []
        while remaining:
            ready = [name for name, needed in remaining.items() if not needed - set(order)]
            if not ready:
                raise RuntimeError("cycle exists between partitions!")
            # In the order of the program one at a time; else all that are ready.
            for name in ready[:1] if keep_original_order else ready:
                order.append(name)
                del remaining[name]
        return order

    def fill(self, qualname_map: dict[str, str] | None, keep_input_names: bool) -> None:
        """Make the graph of each part."""
        for partition in self.partitions.values():
            for i, used in enumerate(partition.inputs):
                name = used.name if keep_input_names else f"arg_{i}"
                placeholder = partition.graph.placeholder(name, type_expr=used.type)
                placeholder.meta = used.meta.copy()
                partition.environment[used] = placeholder
        for node, name in self.partition_of.items():
            partition = self.partitions[name]
            environment = partition.environment
            target = node.target
            if node.op == "call_module":
                path = str(target)
                target = path.replace(".", "_")
                partition.targets[target] = _get_attr(self.module, path)
                if qualname_map is not None:
                    qualname_map[f"{partition.submod_name}.{target}"] = path
            new = partition.graph.create_node(
                node.op,
                target,
                map_arg(node.args, environment.__getitem__),
                map_arg(node.kwargs, environment.__getitem__),
                name=node.name if self.keep_names else None,
                type_expr=node.type,
            )
            new.meta = node.meta.copy()
            environment[node] = new

    def outer(self, order: list[str], keep_original_order: bool) -> GraphModule:
        """The module whose graph calls the parts."""
        graph = Graph()
        environment: dict[Node, Node] = {}
        attributes: dict[str, Any] = {}
        base_nodes = [n for n in self.module.graph.nodes if n.op in ("placeholder", "get_attr")]

        def copy_base(node: Node) -> None:
            environment[node] = graph.node_copy(node, lambda n: environment[n])
            if node.op == "get_attr":
                attributes[str(node.target)] = _get_attr(self.module, str(node.target))

        for node in base_nodes:
            if node.op == "placeholder" or not keep_original_order:
                copy_base(node)
        for name in order:
            partition = self.partitions[name]
            for used in partition.inputs:
                if used not in environment:
                    copy_base(used)
            attributes[partition.submod_name] = self._module_of(partition)
            given = tuple(environment[used] for used in partition.inputs)
            call = graph.create_node("call_module", partition.submod_name, given, {})
            self._take_results(partition, call, graph, environment)
        output = self.module.graph.output_node()
        for used in output.all_input_nodes:
            if used not in environment:
                copy_base(used)
        graph.node_copy(output, lambda n: environment[n])
        return GraphModule(attributes, graph)

    def _module_of(self, partition: Partition) -> GraphModule:
        results = tuple(partition.environment[node] for node in partition.outputs)
        single = len(results) == 1 and not self.tuple_return
        partition.graph.output(results[0] if single else results)
        return GraphModule(partition.targets, partition.graph)

    def _take_results(
        self, partition: Partition, call: Node, graph: Graph, environment: dict[Node, Node]
    ) -> None:
        if len(partition.outputs) == 1 and not self.tuple_return:
            (node,) = partition.outputs
            environment[node] = call
            call.meta = node.meta.copy()
            return
        proxy: Any = facula.fx.Proxy(call)
        for i, node in enumerate(partition.outputs):
            environment[node] = proxy[i].node
            environment[node].meta = node.meta.copy()
