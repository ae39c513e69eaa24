"""The picture of a model: the operations of one call, each in the module that ran it.

The derivatives that the call recorded are its operations. When a module begins, those behind its
arguments that nobody claimed belong to its caller; when it ends, those behind its results to it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tensorboardX.proto.attr_value_pb2 import AttrValue
from tensorboardX.proto.graph_pb2 import GraphDef
from tensorboardX.proto.node_def_pb2 import NodeDef
from tensorboardX.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboardX.proto.versions_pb2 import VersionDef

import facula
from facula import nn
from facula.utils._pytree import tree_flatten, tree_map


def trace(model: nn.Module, inputs: Any) -> Any:
    """The graph of ``model(*inputs)``; the model and its state stay as they are."""
    arguments = inputs if isinstance(inputs, tuple | list) else () if inputs is None else (inputs,)
    recorder = _Recorder(model)
    with _differentiable(model), facula.enable_grad(), recorder.listening(model):
        arguments = tree_map(recorder.add_input, tuple(arguments))
        results = model(*arguments)
        recorder.add_outputs(results)
    return GraphDef(node=recorder.nodes, versions=VersionDef(producer=22))


@contextmanager
def _differentiable(model: nn.Module) -> Iterator[None]:
    # Frozen parameters would leave no trace, and running statistics would move.
    frozen = [p for p in model.parameters() if not p.requires_grad and p.dtype.is_floating_point]
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    random_state = facula.get_rng_state()
    try:
        for parameter in frozen:
            parameter.requires_grad_(True)
        yield
    finally:
        for parameter in frozen:
            parameter.requires_grad_(False)
        with facula.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)
        facula.set_rng_state(random_state)


class _Recorder:
    def __init__(self, model: nn.Module) -> None:
        self.nodes: list[Any] = []
        self._root = type(model).__name__
        self._names: dict[Any, str] = {}  # by derivative
        self._leaves: dict[int, str] = {}  # by the id of a parameter or input
        self._counts: dict[str, int] = {}
        self._scopes = [self._root]  # one for each module that is running, the innermost last
        for name, value in model.named_parameters():
            path, _, own = name.rpartition(".")
            name = f"{self._scope(path)}/{own}"
            self._leaves[id(value)] = self._add(name, "Parameter", [], value)

    def _scope(self, path: str) -> str:
        return "/".join([self._root, *filter(None, path.split("."))])

    @contextmanager
    def listening(self, model: nn.Module) -> Iterator[None]:
        with ExitStack() as hooks:
            for name, module in model.named_modules():

                def enter(module: nn.Module, args: Any, scope: str = self._scope(name)) -> None:
                    self._claim(args)
                    self._scopes.append(scope)

                def leave(module: nn.Module, args: Any, results: Any) -> None:
                    self._claim(results)
                    self._scopes.pop()

                hooks.callback(module.register_forward_pre_hook(enter).remove)
                hooks.callback(module.register_forward_hook(leave).remove)
            yield

    def add_input(self, value: Any) -> Any:
        if not isinstance(value, facula.Tensor):
            return value
        copy = value.detach().clone()
        if copy.dtype.is_floating_point or copy.dtype.is_complex:
            copy.requires_grad_()
        self._leaves[id(copy)] = self._add(f"input/{self._root}", "IO Node", [], copy)
        return copy

    def add_outputs(self, results: Any) -> None:
        for result in tree_flatten(results)[0]:
            if isinstance(result, facula.Tensor):
                source = self._names.get(result.grad_fn) or self._leaves.get(id(result))
                self._add(f"output/{self._root}", "IO Node", [source] if source else [], result)

    def _claim(self, results: Any) -> None:
        for result in tree_flatten(results)[0]:
            if isinstance(result, facula.Tensor) and result.grad_fn is not None:
                self._claim_one(result, self._scopes[-1])

    def _claim_one(self, result: facula.Tensor, scope: str) -> None:
        stack: list[Any] = [result.grad_fn]
        new = []
        while stack:
            node = stack.pop()
            if node in self._names:
                continue
            self._names[node] = ""  # on the list; its name comes below
            new.append(node)
            stack += [other for other, _ in node.next_functions if other is not None]
        # The last found were computed first, and are named first.
        for node in reversed(new):
            self._names[node] = self._name(scope, node)
        for node in reversed(new):
            if not hasattr(node, "variable"):
                sources = [self._names[o] for o, _ in node.next_functions if o is not None]
                shape = result if node is result.grad_fn else None
                self._add_named(self._names[node], _operation(node), sources, shape)

    def _name(self, scope: str, node: Any) -> str:
        if hasattr(node, "variable"):
            known = self._leaves.get(id(node.variable))
            return known or self._add(f"{scope}/constant", "Constant", [], node.variable)
        return self._unique(f"{scope}/{_operation(node)}")

    def _unique(self, name: str) -> str:
        number = self._counts.get(name, 0)
        self._counts[name] = number + 1
        return f"{name}_{number}" if number else name

    def _add(self, name: str, operation: str, sources: list[str], value: Any) -> str:
        name = self._unique(name)
        self._add_named(name, operation, sources, value)
        return name

    def _add_named(self, name: str, operation: str, sources: list[str], value: Any) -> None:
        node = NodeDef(name=name, op=operation, input=sources)
        if value is not None:
            dims = [TensorShapeProto.Dim(size=size) for size in value.shape]
            shape = AttrValue.ListValue(shape=[TensorShapeProto(dim=dims)])
            node.attr["_output_shapes"].CopyFrom(AttrValue(list=shape))
        self.nodes.append(node)


def _operation(node: Any) -> str:
    name: str = node.name().rpartition("::")[2]
    return name.partition("Backward")[0] or name
