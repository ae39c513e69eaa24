"""Graphs run node by node: an Interpreter computes, a Transformer makes a new graph."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from facula.fx import traceback as fx_traceback
from facula.fx._symbolic_trace import Tracer
from facula.fx.graph import Graph
from facula.fx.graph_module import GraphModule
from facula.fx.node import Argument, Node, Target, map_aggregate, map_arg
from facula.fx.proxy import Proxy

if TYPE_CHECKING:
    from facula.nn import Module

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph one node after the other. Override a method to do something else there.

    There is one method for each kind of node, and :meth:`run_node` for all of them.

    Args:
        module: the module whose graph is run.
        garbage_collect_values: whether results are dropped after their last use.
        graph: a graph to run instead of the module's.

    Example:
        >>> class Log(facula.fx.Interpreter):
        ...     def call_function(self, target, args, kwargs):
        ...         print(target.__name__)
        ...         return super().call_function(target, args, kwargs)
        >>> traced = facula.fx.symbolic_trace(lambda x: facula.relu(x) + 1)
        >>> Log(traced).run(facula.tensor([-1.0, 1.0]))
        relu
        add
        tensor([1., 2.])
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        # Whether an error says at which node it was raised.
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            seen: set[Node] = set()
            for user in reversed(self.graph.nodes):
                for node in user.all_input_nodes:
                    if node not in seen:
                        seen.add(node)
                        self.user_to_last_uses.setdefault(user, []).append(node)

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """Run the graph; gives its result.

        Args:
            args: the inputs, in order.
            initial_env: results of nodes that are known already, and are not computed.
            enable_io_processing: whether arguments and results are the function's, which may be
                trees, rather than the graph's.
        """
        self.env = dict(initial_env) if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter: Iterator[Any] = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    _add_note(error, node)
                raise
            for unused in self.user_to_last_uses.get(node, ()):
                del self.env[unused]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """As :meth:`run`, for inputs in a list, which is emptied so that they can be freed.

        Args:
            args_list: the inputs.
        """
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        env = dict(zip(placeholders, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env, enable_io_processing=False)

    @contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        with fx_traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}"):
            yield

    def run_node(self, n: Node) -> Any:
        """Run a node: find its arguments, and call the method for its kind.

        Args:
            n: the node.
        """
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The next input, or the default of this one.

        Args:
            target: the name of the input.
            args: its default, or nothing.
            kwargs: nothing.
        """
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The attribute of the module that the node reads.

        Args:
            target: the path of the attribute.
            args: nothing.
            kwargs: nothing.
        """
        return self.fetch_attr(str(target))

    def call_function(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result of the function.

        Args:
            target: the function.
            args: the positional arguments, computed.
            kwargs: the arguments by name, computed.
        """
        if not callable(target):
            raise TypeError(f"call_function: expected a function, got {target!r}.")
        return target(*args, **kwargs)

    def call_method(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result of the method of ``args[0]``.

        Args:
            target: the name of the method.
            args: the object and the positional arguments, computed.
            kwargs: the arguments by name, computed.
        """
        obj, *rest = args
        return getattr(obj, str(target))(*rest, **kwargs)

    def call_module(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result of the module.

        Args:
            target: the path of the module.
            args: the positional arguments, computed.
            kwargs: the arguments by name, computed.
        """
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What the graph returns.

        Args:
            target: ``"output"``.
            args: the result, computed.
            kwargs: nothing.
        """
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module.

        Args:
            target: its path.
        """
        value: Any = self.module
        path: list[str] = []
        for part in target.split("."):
            path.append(part)
            if not hasattr(value, part):
                raise RuntimeError(
                    f"Node referenced nonexistent target {'.'.join(path)} of {type(value).__name__}"
                )
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, with results in the place of nodes.

        Args:
            n: the node.
        """
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """Arguments with results in the place of nodes.

        Args:
            args: the arguments.
            n: the node that they belong to.
        """

        def value(used: Node) -> Any:
            if used not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {used}")
            return self.env[used]

        return map_arg(args, value)


def _add_note(error: BaseException, node: Node) -> None:
    """Say at which node an error was raised, and from which line of the traced program it is."""
    note = f"While executing {node.format_node()}"
    if node.stack_trace:
        note += f"\nOriginal traceback:\n{node.stack_trace}"
    if hasattr(error, "add_note"):  # since Python 3.11
        error.add_note(note)
    elif error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n\n{note}", *error.args[1:])


class Transformer(Interpreter):
    """Makes a new graph from the nodes of another. Override a method to put something else there.

    Args:
        module: the module whose graph is transformed.

    Example:
        >>> class Sigmoids(facula.fx.Transformer):
        ...     def call_function(self, target, args, kwargs):
        ...         if target is facula.relu:
        ...             return facula.sigmoid(*args, **kwargs)
        ...         return super().call_function(target, args, kwargs)
        >>> traced = facula.fx.symbolic_trace(lambda x: facula.relu(x) + 1)
        >>> print(Sigmoids(traced).transform().code.strip())
        def forward(self, x):
            sigmoid = facula.sigmoid(x);  x = None
            add = sigmoid + 1;  sigmoid = None
            return add
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph
                self.tensor_attrs: dict[Any, str] = {}

            def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Proxy:
        default = args[0] if args else inspect.Signature.empty
        given = () if default is inspect.Signature.empty else (default,)
        node = self.new_graph.create_node("placeholder", target, given)
        return Proxy(node, self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        module = self.fetch_attr(str(target))
        return self.tracer.call_module(module, module.forward, args, kwargs)

    def call_function(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module with the new graph."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:

            def node_of(a: Any) -> Any:
                return a.node if isinstance(a, Proxy) else a

            output = self.new_graph.output(map_aggregate(result, node_of))
            for key, value in self.graph.output_node().meta.items():
                output.meta.setdefault(key, value)
        return GraphModule(self.module, self.new_graph)
