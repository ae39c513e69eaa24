"""Networks made faster for inference, by changes to their graphs."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from facula import nn
from facula.fx._symbolic_trace import symbolic_trace
from facula.fx.graph import Graph
from facula.fx.graph_module import GraphModule
from facula.fx.interpreter import Transformer
from facula.fx.node import Argument, Node, Target
from facula.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = [
    "extract_subgraph",
    "fuse",
    "matches_module_pattern",
    "remove_dropout",
    "replace_node_module",
]

# A layer, the norm after it that is folded into it, and how.
_FUSED: list[tuple[type[nn.Module], type[nn.Module], Any]] = [
    (nn.Conv1d, nn.BatchNorm1d, fuse_conv_bn_eval),
    (nn.Conv2d, nn.BatchNorm2d, fuse_conv_bn_eval),
    (nn.Conv3d, nn.BatchNorm3d, fuse_conv_bn_eval),
    (nn.Linear, nn.BatchNorm1d, fuse_linear_bn_eval),
]


def matches_module_pattern(
    pattern: Iterable[type[nn.Module]], node: Node, modules: dict[str, nn.Module]
) -> bool:
    """Whether a node calls a module of one class on the result of a module of another.

    Args:
        pattern: the two classes, in the order in which they are called.
        node: the node of the second.
        modules: the modules of the root by path.
    """
    if not node.args or not isinstance(node.args[0], Node):
        return False
    for expected, current in zip(pattern, (node.args[0], node), strict=True):
        if current.op != "call_module" or type(modules.get(str(current.target))) is not expected:
            return False
    return True


def replace_node_module(node: Node, modules: dict[str, Any], new_module: nn.Module) -> None:
    """Let a node call another module, which takes the place of the one it called.

    Args:
        node: the node.
        modules: the modules of the root by path, the root as ``""``.
        new_module: the module.
    """
    parent, _, name = str(node.target).rpartition(".")
    modules[str(node.target)] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> nn.Module:
    """Fold batch norms into the convolutions and linear layers before them, for inference.

    Args:
        model: the network, in eval mode.
        inplace: whether the layers of ``model`` itself are changed, rather than copies.
        no_trace: whether ``model`` is a :class:`~facula.fx.GraphModule` that need not be traced.

    Example:
        >>> from facula import nn
        >>> from facula.fx.experimental.optimization import fuse
        >>> net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval()
        >>> fused = fuse(net)
        >>> [type(layer).__name__ for layer in fused.children()]
        ['Conv2d', 'ReLU']
        >>> x = facula.rand(1, 1, 5, 5)
        >>> facula.allclose(fused(x), net(x), atol=1e-6)
        True
    """
    model = model if inplace else copy.deepcopy(model)
    fx_model = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules: dict[str, Any] = dict(fx_model.named_modules())
    graph = copy.deepcopy(fx_model.graph)
    for layer_class, norm_class, fold in _FUSED:
        for node in graph.nodes:
            if not matches_module_pattern((layer_class, norm_class), node, modules):
                continue
            before: Node = node.args[0]
            norm = modules[str(node.target)]
            # A layer whose result is used elsewhere, too, must stay as it is.
            if len(before.users) > 1 or not norm.track_running_stats:
                continue
            replace_node_module(before, modules, fold(modules[str(before.target)], norm))
            node.replace_all_uses_with(before)
            graph.erase_node(node)
    return GraphModule(fx_model, graph)


def remove_dropout(model: nn.Module) -> nn.Module:
    """A network without its dropout layers.

    Args:
        model: the network.

    Example:
        >>> from facula import nn
        >>> from facula.fx.experimental.optimization import remove_dropout
        >>> [type(m).__name__ for m in remove_dropout(
        ...     nn.Sequential(nn.Linear(2, 2), nn.Dropout())).children()]
        ['Linear']
    """

    class DropoutRemover(Transformer):
        def call_module(
            self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
        ) -> Any:
            if isinstance(self.submodules[str(target)], nn.Dropout):
                return args[0]
            return super().call_module(target, args, kwargs)

    return DropoutRemover(symbolic_trace(model)).transform()


def extract_subgraph(
    orig_module: nn.Module, nodes: list[Node], inputs: list[Node], outputs: list[Node]
) -> GraphModule:
    """Some nodes of a graph as a module of their own.

    Args:
        orig_module: the module that the nodes are of.
        nodes: the nodes, in order.
        inputs: the nodes whose results it takes.
        outputs: the nodes whose results it gives.

    Example:
        >>> from facula.fx.experimental.optimization import extract_subgraph
        >>> traced = facula.fx.symbolic_trace(lambda x: x.neg().exp().abs())
        >>> _, neg, exp, abs_, _ = traced.graph.nodes
        >>> extract_subgraph(traced, [exp, abs_], [neg], [abs_])(facula.zeros(1))
        (tensor([1.]),)
    """
    graph = Graph()
    copies: dict[Node, Node] = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        copies[node] = graph.node_copy(node, lambda n: copies[n])
    graph.output(tuple(copies[node] for node in outputs))
    graph.lint()
    return GraphModule(orig_module, graph)
