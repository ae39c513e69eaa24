"""A graph cut into modules by the tags of its nodes."""

from __future__ import annotations

from typing import Any

from facula.fx.graph import Graph
from facula.fx.graph_module import GraphModule
from facula.fx.node import Node
from facula.fx.passes.tools_common import stable_topological_sort
from facula.fx.passes.utils.common import lift_subgraph_as_module
from facula.fx.passes.utils.fuser_utils import call_instead, erase_nodes, fuse_as_graphmodule

__all__ = ["getattr_recursive", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj: object, name: str) -> Any:
    """What a path leads to, or None.

    Args:
        obj: where the path starts.
        name: the path: ``"layer.weight"``.

    Example:
        >>> from facula.fx.passes.split_utils import getattr_recursive
        >>> getattr_recursive(facula.nn.Sequential(facula.nn.ReLU()), "0")
        ReLU()
    """
    for part in name.split("."):
        obj = getattr(obj, part, None)
    return obj


def setattr_recursive(obj: object, attr: str, value: object) -> None:
    """Set what a path leads to.

    Args:
        obj: where the path starts.
        attr: the path: ``"layer.weight"``.
        value: the new value.

    Example:
        >>> from facula.fx.passes.split_utils import setattr_recursive
        >>> net = facula.nn.Sequential(facula.nn.Sequential(facula.nn.ReLU()))
        >>> setattr_recursive(net, "0.0", facula.nn.Tanh())
        >>> net[0]
        Sequential(
          (0): Tanh()
        )
    """
    *parents, last = attr.split(".")
    for part in parents:
        obj = getattr(obj, part)
    setattr(obj, last, value)


def split_by_tags(
    gm: GraphModule,
    tags: list[str],
    return_fqn_mapping: bool = False,
    return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,
) -> GraphModule | tuple[GraphModule, dict[str, str]]:
    """A new module that calls one module for each tag; parameters are shared.

    Args:
        gm: the module; each node of its graph that calls something has an attribute ``tag``.
        tags: the tags, in an order in which none needs results of a later one. They are the names
            of the modules.
        return_fqn_mapping: whether a dict is returned too: the new paths of parts by the old ones.
        return_tuple: whether the modules give one result as a tuple too.
        GraphModuleCls: the class of the new module.

    Example:
        >>> from facula.fx.passes.split_utils import split_by_tags
        >>> traced = facula.fx.symbolic_trace(lambda x: x.neg().abs().exp())
        >>> for node in traced.graph.nodes:
        ...     node.tag = "first" if node.name == "neg" else "second"
        >>> split = split_by_tags(traced, ["first", "second"])
        >>> list(split.graph.nodes), split(facula.tensor(0.0))
        ([x, first, second, output], tensor(1.))
    """
    graph = Graph()
    copies: dict[Node, Node] = {}
    result: Any = graph.graph_copy(gm.graph, copies)
    graph.output(result)
    work = GraphModule(gm, graph)
    paths: dict[str, str] = {}
    tag_of = {copies[node]: _tag(node, tags) for node in gm.graph.nodes if _is_call(node)}
    groups = {}
    for tag in tags:
        nodes = [node for node in work.graph.nodes if tag_of.get(node) == tag]
        if nodes:
            nodes = _with_own_attributes(work.graph, nodes)
            groups[tag] = (
                nodes,
                fuse_as_graphmodule(work, nodes, "GraphModule", always_return_tuple=return_tuple),
            )
    news: dict[Node, Node] = {}
    for tag, (nodes, (part, inputs, outputs)) in groups.items():
        paths |= {
            str(node.target): f"{tag}.{node.target}"
            for node in part.graph.nodes
            if node.op in ("call_module", "get_attr")
        }
        inputs = tuple(news.get(node, node) for node in inputs)
        news |= call_instead(work, tag, part, inputs, outputs, nodes[-1])
        erase_nodes(work, nodes)
    stable_topological_sort(work)
    main, _ = lift_subgraph_as_module(work, work.graph)
    split = main if GraphModuleCls is GraphModule else GraphModuleCls(main, main.graph)
    return (split, paths) if return_fqn_mapping else split


def _is_call(node: Node) -> bool:
    return node.op in ("call_function", "call_method", "call_module")


def _tag(node: Node, tags: list[str]) -> str:
    tag: Any = getattr(node, "tag", None)
    if tag not in tags:
        raise AssertionError(
            f"split_by_tags: expected node {node} to have one of the tags {tags}, got {tag!r}."
        )
    return str(tag)


def _with_own_attributes(graph: Graph, nodes: list[Node]) -> list[Node]:
    """The nodes, and before them a copy of each node that reads an attribute for them."""
    own: dict[Node, Node] = {}
    for node in nodes:
        for used in node.all_input_nodes:
            if used.op == "get_attr":
                if used not in own:
                    with graph.inserting_before(node):
                        own[used] = graph.node_copy(used)
                node.replace_input_with(used, own[used])
    for used in own:
        if not used.users:
            graph.erase_node(used)
    inside = {*nodes, *own.values()}
    return [node for node in graph.nodes if node in inside]
