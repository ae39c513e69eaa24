"""Results from inside of a network: its graph, cut off after the layers that are asked for.

Nodes are named by the path of their module and by what they do there: ``layer1.0.add`` is the
addition in ``model.layer1[0]``. A module that is called twice, or an operation that is done twice
in a module, has a number from the second time on: ``layer1.0.relu_1``.
"""

from __future__ import annotations

import copy
import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import facula
from facula import fx, nn
from facula._warnings import warn_user
from facula.fx.graph_module import _copy_attr
from facula.vision import ops

__all__ = [
    "DualGraphModule",
    "LeafModuleAwareTracer",
    "NodePathTracer",
    "create_feature_extractor",
    "get_graph_node_names",
]


class LeafModuleAwareTracer(fx.Tracer):
    """A tracer that takes modules of given classes for leaves.

    Args:
        args: the arguments of :class:`facula.fx.Tracer`.
        leaf_modules: the classes, by name.
        kwargs: the arguments of :class:`facula.fx.Tracer` by name.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.leaf_modules: tuple[type[nn.Module], ...] = tuple(kwargs.pop("leaf_modules", ()))
        super().__init__(*args, **kwargs)

    def is_leaf_module(self, m: nn.Module, module_qualname: str) -> bool:
        return isinstance(m, self.leaf_modules) or super().is_leaf_module(m, module_qualname)


class NodePathTracer(LeafModuleAwareTracer):
    """A tracer that names nodes by the path of their module.

    ``node_to_qualname`` has the name of each node.

    Args:
        args: the arguments of :class:`LeafModuleAwareTracer`.
        kwargs: the arguments of :class:`LeafModuleAwareTracer` by name.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.current_module_qualname = ""
        self.node_to_qualname: dict[fx.Node, str] = {}
        # How often a name was wished for: the next one gets this number.
        self._n_times: dict[str, int] = {}

    def call_module(
        self,
        m: nn.Module,
        forward: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        before = self.current_module_qualname
        self.current_module_qualname = self.path_of_module(m)
        try:
            return super().call_module(m, forward, args, kwargs)
        finally:
            self.current_module_qualname = before

    def create_proxy(self, kind: str, target: Any, *args: Any, **kwargs: Any) -> fx.Proxy:
        proxy = super().create_proxy(kind, target, *args, **kwargs)
        self.node_to_qualname[proxy.node] = self._name_of(proxy.node)
        return proxy

    def _name_of(self, node: fx.Node) -> str:
        path = self.current_module_qualname
        if node.op != "call_module":
            path = f"{path}.{node}" if path else str(node)
        # The number that the graph gave the node counts over the whole network.
        base = re.sub(r"(?<=.)_[0-9]+$", "", path)
        n_times = self._n_times.get(base, 0)
        self._n_times[base] = n_times + 1
        return f"{base}_{n_times}" if n_times else base


def _with_defaults(tracer_kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments for the tracer; operations and layers of `vision.ops` are single steps."""
    given = dict(tracer_kwargs or {})
    classes = [value for _, value in inspect.getmembers(ops, inspect.isclass)]
    leaves = [cls for cls in classes if issubclass(cls, nn.Module)]
    given["autowrap_modules"] = (math, ops, *given.get("autowrap_modules", ()))
    given["leaf_modules"] = [*leaves, *given.get("leaf_modules", ())]
    return given


def _trace_in_both_modes(
    model: nn.Module, tracer_kwargs: dict[str, Any] | None, concrete_args: dict[str, Any] | None
) -> dict[str, tuple[NodePathTracer, fx.Graph]]:
    was_training = model.training
    traced = {}
    try:
        for mode in ("train", "eval"):
            model.train(mode == "train")
            tracer = NodePathTracer(**_with_defaults(tracer_kwargs))
            traced[mode] = tracer, tracer.trace(model, concrete_args)
    finally:
        model.train(was_training)
    return traced


def _warn_of_differences(traced: dict[str, tuple[NodePathTracer, fx.Graph]]) -> None:
    in_train, in_eval = (list(traced[m][0].node_to_qualname.values()) for m in ("train", "eval"))
    if in_train == in_eval:
        return
    missing = [name for name in in_train if name not in in_eval]
    added = [name for name in in_eval if name not in in_train]
    parts = [f"only in train mode: {', '.join(missing)}"] if missing else []
    parts += [f"only in eval mode: {', '.join(added)}"] if added else []
    warn_user(
        "The graph of the model differs between train mode and eval mode ("
        f"{'; '.join(parts) or 'the order of its nodes'}). When choosing nodes for feature "
        "extraction, you may need to specify output nodes for train and eval mode separately.",
    )


def get_graph_node_names(
    model: nn.Module,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: dict[str, Any] | None = None,
) -> tuple[list[str], list[str]]:
    """The names of the nodes of a network, in train mode and in eval mode.

    Args:
        model: the network.
        tracer_kwargs: more arguments for :class:`NodePathTracer`.
        suppress_diff_warning: whether a difference between the modes is not worth a warning.
        concrete_args: values for some parameters of ``forward``, as those of
            :func:`facula.fx.symbolic_trace`.

    Example:
        >>> from facula.vision.models.feature_extraction import get_graph_node_names
        >>> train, _ = get_graph_node_names(facula.vision.models.resnet18())
        >>> train[:5], train[8:12]
        (['x', 'conv1', 'bn1', 'relu', 'maxpool'],
         ['layer1.0.conv2', 'layer1.0.bn2', 'layer1.0.add', 'layer1.0.relu_1'])
    """
    traced = _trace_in_both_modes(model, tracer_kwargs, concrete_args)
    if not suppress_diff_warning:
        _warn_of_differences(traced)
    in_train, in_eval = (list(traced[m][0].node_to_qualname.values()) for m in ("train", "eval"))
    return in_train, in_eval


class DualGraphModule(fx.GraphModule):
    """A module of two graphs: one for train mode, one for eval mode.

    Args:
        root: the module whose parameters, buffers and modules the graphs use.
        train_graph: the graph in train mode.
        eval_graph: the graph in eval mode.
        class_name: the name of the module in print.
    """

    def __init__(
        self,
        root: nn.Module,
        train_graph: fx.Graph,
        eval_graph: fx.Graph,
        class_name: str = "GraphModule",
    ) -> None:
        graph = train_graph if root.training else eval_graph
        super().__init__(root, graph, class_name)
        for node in (*train_graph.nodes, *eval_graph.nodes):
            if node.op in ("get_attr", "call_module"):
                _copy_attr(root, self, str(node.target))
        self.__dict__["train_graph"] = train_graph
        self.__dict__["eval_graph"] = eval_graph
        for graph in (train_graph, eval_graph):
            graph.owning_module = self

    def train(self, mode: bool = True) -> DualGraphModule:
        """Set train mode, or eval mode; the graph is that of the mode.

        Args:
            mode: True for train mode.
        """
        # Before __init__ has come to the graphs, there is nothing to change.
        if "eval_graph" in self.__dict__ and mode != self.training:
            self.graph = self.train_graph if mode else self.eval_graph
        super().train(mode)
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> DualGraphModule:
        root = nn.Module()
        body = {key: v for key, v in self.__dict__.items() if not isinstance(v, fx.Graph)}
        root.__dict__.update(copy.deepcopy(body, memo))
        graphs = copy.deepcopy(self.train_graph), copy.deepcopy(self.eval_graph)
        new = DualGraphModule(root, *graphs, class_name=type(self).__name__)
        memo[id(self)] = new
        for key, value in root.__dict__.items():
            if key not in new.__dict__ or key.endswith("hooks"):
                new.__dict__[key] = value
        new.training = self.training
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        body = {key: v for key, v in self.__dict__.items() if not isinstance(v, fx.Graph)}
        return _rebuild, (body, self.train_graph, self.eval_graph, type(self).__name__)


def _rebuild(
    body: dict[str, Any], train_graph: fx.Graph, eval_graph: fx.Graph, name: str
) -> DualGraphModule:
    root = nn.Module()
    root.__dict__.update(body)
    return DualGraphModule(root, train_graph, eval_graph, name)


def create_feature_extractor(
    model: nn.Module,
    return_nodes: list[str] | dict[str, str] | None = None,
    train_return_nodes: list[str] | dict[str, str] | None = None,
    eval_return_nodes: list[str] | dict[str, str] | None = None,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: dict[str, Any] | None = None,
) -> fx.GraphModule:
    """A network that returns the results of some of its nodes, as a dict.

    What is not needed for them is left out. The name of a module stands for its last node.

    Args:
        model: the network.
        return_nodes: the nodes, see :func:`get_graph_node_names`; a dict gives each the name that
            it has in the result.
        train_return_nodes: the nodes in train mode, if they are not those in eval mode.
        eval_return_nodes: the nodes in eval mode, given together with those in train mode.
        tracer_kwargs: more arguments for :class:`NodePathTracer`: ``leaf_modules``, classes of
            modules that are single steps, and ``autowrap_functions``.
        suppress_diff_warning: whether a difference between the modes is not worth a warning.
        concrete_args: values for some parameters of ``forward``, as those of
            :func:`facula.fx.symbolic_trace`.

    Example:
        >>> from facula.vision.models.feature_extraction import create_feature_extractor
        >>> model = facula.vision.models.resnet18()
        >>> extractor = create_feature_extractor(model, {"layer1": "low", "layer4.1.add": "high"})
        >>> for name, value in extractor(facula.rand(1, 3, 64, 64)).items():
        ...     print(name, value.shape)
        low torch.Size([1, 64, 16, 16])
        high torch.Size([1, 512, 2, 2])
    """
    if return_nodes is None and (train_return_nodes is None or eval_return_nodes is None):
        raise ValueError(
            "Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` together, "
            "should be specified"
        )
    if (train_return_nodes is None) != (eval_return_nodes is None):
        raise ValueError(
            "If any of `train_return_nodes` and `eval_return_nodes` are specified, then both "
            "should be specified"
        )
    if (return_nodes is None) == (train_return_nodes is None):
        raise ValueError(
            "If `train_return_nodes` and `eval_return_nodes` are specified, then both should be "
            "specified, and `return_nodes` should not be"
        )
    wanted = {
        "train": _as_dict(return_nodes if train_return_nodes is None else train_return_nodes),
        "eval": _as_dict(return_nodes if eval_return_nodes is None else eval_return_nodes),
    }
    traced = _trace_in_both_modes(model, tracer_kwargs, concrete_args)
    if not suppress_diff_warning and train_return_nodes is None:
        _warn_of_differences(traced)
    for mode, (tracer, graph) in traced.items():
        _return_only(graph, tracer.node_to_qualname, wanted[mode])
    module = DualGraphModule(
        model, traced["train"][1], traced["eval"][1], class_name=type(model).__name__
    )
    module.train(model.training)
    return module


def _as_dict(names: list[str] | dict[str, str] | None) -> dict[str, str]:
    if isinstance(names, dict):
        return {str(key): str(value) for key, value in names.items()}
    return {str(name): str(name) for name in names or ()}


def _return_only(graph: fx.Graph, names: dict[fx.Node, str], wanted: dict[str, str]) -> None:
    """Let a graph return the last node of each name that is wanted, and drop what it needs not."""
    for query in wanted:
        if not any(_is_inside(name, query) for name in names.values()):
            raise ValueError(
                f"node: '{query}' is not present in model. Hint: use `get_graph_node_names` to "
                "make sure the `return_nodes` you specified are present. It may even be that you "
                "need to specify `train_return_nodes` and `eval_return_nodes` separately."
            )
    results: dict[str, fx.Node] = {}
    for query, key in wanted.items():
        last = [node for node, name in names.items() if _is_inside(name, query)][-1]
        results[key] = last
    graph.erase_node(graph.output_node())
    graph.output(dict(sorted(results.items(), key=lambda pair: graph._place(pair[1]))))
    # What comes after the results goes, also where it works in place: it would spoil them.
    graph.eliminate_dead_code(_must_stay)


def _is_inside(name: str, query: str) -> bool:
    return name == query or name.startswith(f"{query}.")


def _must_stay(node: fx.Node) -> bool:
    return node.op in ("placeholder", "output") or node.target is facula._assert
