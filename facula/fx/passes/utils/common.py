"""Parts of a graph as modules of their own, and graphs compared."""

from __future__ import annotations

from typing import Any

from facula.fx.graph import Graph
from facula.fx.graph_module import GraphModule
from facula.fx.passes.utils.matcher_utils import SubgraphMatcher
from facula.nn import Module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """A module that only holds others.

    Args:
        d: the modules by name.

    Example:
        >>> from facula.fx.passes.utils.common import HolderModule
        >>> HolderModule({"act": facula.nn.ReLU()})
        HolderModule(
          (act): ReLU()
        )
    """

    def __init__(self, d: dict[str, Module | None]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """A module of a graph whose nodes name parts of another module; the parts are shared.

    Args:
        gm: the module that has the parts.
        subgraph: the graph.
        comp_name: the name that the new module will have, for the dict.
        class_name: the name of the new module's class.

    Returns:
        The new module, and for each path of a part in ``gm`` its path below ``comp_name``.

    Example:
        >>> from facula.fx.passes.utils.common import lift_subgraph_as_module
        >>> traced = facula.fx.symbolic_trace(facula.nn.Sequential(facula.nn.ReLU()))
        >>> part, paths = lift_subgraph_as_module(traced, traced.graph, "part")
        >>> part(facula.tensor([-1.0, 1.0])), paths
        (tensor([0., 1.]), {'0': 'part.0'})
    """
    root = HolderModule({})
    paths: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        path = str(node.target)
        *parents, last = path.split(".")
        source: Any = gm
        home: Any = root
        for name in parents:
            source = getattr(source, name)
            if not hasattr(home, name):
                home.add_module(name, HolderModule({}))
            home = getattr(home, name)
        part = getattr(source, last)
        if not hasattr(home, last):
            setattr(home, last, part)
        paths[path] = f"{comp_name}.{path}"
    return GraphModule(root, subgraph, class_name), paths


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs do the same with the same inputs.

    Args:
        left: a graph.
        right: another one.

    Example:
        >>> from facula.fx.passes.utils.common import compare_graphs
        >>> functions = [lambda x: x.neg(), lambda y: y.neg(), lambda x: x.abs()]
        >>> a, b, c = (facula.fx.symbolic_trace(function).graph for function in functions)
        >>> compare_graphs(a, b), compare_graphs(a, c)
        (True, False)
    """
    matcher = SubgraphMatcher(left, match_output=True, match_placeholder=True)
    return bool(matcher.match(right))
