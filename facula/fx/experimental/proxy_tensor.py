"""Graphs of what a function does with given tensors: it is run, and each operation is noted.

Unlike :func:`facula.fx.symbolic_trace`, which runs a program with proxies, :func:`make_fx` runs it
with tensors, under a mode that sees each operation at the seam (:mod:`facula.overrides`). So it
looks into modules and wrapped functions, and what depends on shapes is decided by these tensors.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import facula
from facula import _core
from facula.fx import _names
from facula.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from facula.fx._patch import Patcher
from facula.fx._symbolic_trace import Tracer
from facula.fx.graph import Graph
from facula.fx.graph_module import GraphModule
from facula.fx.node import Argument, Node, map_aggregate
from facula.nn import Module, Parameter
from facula.utils import _pytree as pytree

__all__ = [
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "disable_proxy_modes_tracing",
    "get_isolated_graphmodule",
    "get_proxy_mode",
    "make_fx",
]

# What tells the program a value, which the graph does not know.
_VALUES = frozenset(
    [
        "__array__",
        "__bool__",
        "__complex__",
        "__float__",
        "__index__",
        "__int__",
        "item",
        "numpy",
        "tolist",
    ]
)

_active: list[ProxyTorchDispatchMode] = []


class PythonKeyTracer(Tracer):
    """The tracer of :func:`make_fx`: tensors that no node gave are read from the root."""

    def __init__(self) -> None:
        super().__init__(autowrap_modules=())
        self.root = Module()
        self.graph = Graph()
        # By id; the tensors are kept, so that no other one can have the id of one that is gone.
        self.known: dict[int, tuple[facula.Tensor, Node]] = {}
        self._constants: dict[int, tuple[facula.Tensor, str]] = {}

    def track(self, tensor: facula.Tensor, node: Node) -> None:
        """From here on a tensor is the result of a node.

        Args:
            tensor: the tensor.
            node: the node.
        """
        self.known[id(tensor)] = tensor, node

    def create_arg(self, a: Any) -> Argument:
        if not isinstance(a, facula.Tensor):
            return super().create_arg(a)
        if id(a) in self.known:
            return self.known[id(a)][1]
        if id(a) not in self._constants:
            kind = "_param_constant" if isinstance(a, Parameter) else "_tensor_constant"
            name = self.get_fresh_qualname(kind)
            self._constants[id(a)] = a, name
            setattr(self.root, name, a)
        return self.create_node("get_attr", self._constants[id(a)][1], (), {})


class ProxyTorchDispatchMode(facula.overrides.TorchFunctionMode):
    """The mode of :func:`make_fx`: does each operation, and adds a node for it.

    Args:
        tracer: what records.
        error_on_data_dependent_ops: whether to refuse to tell the program a value of a tensor.
    """

    def __init__(self, tracer: PythonKeyTracer, error_on_data_dependent_ops: bool = True) -> None:
        self.tracer = tracer
        self.enable_tracing = True
        self.refuses_values = error_on_data_dependent_ops
        self._n_inside = 0
        # Nodes that give the same for all inputs, since they come from numbers alone: an arange.
        self._fixed: set[Node] = set()

    def __enter__(self) -> ProxyTorchDispatchMode:
        _active.append(self)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        _active.remove(self)
        super().__exit__(*error)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if self.refuses_values and name in _VALUES and self._depends_on_inputs(args[0]):
            raise RuntimeError(
                "It appears that you're trying to get value out of a tracing tensor with "
                f"{_names.target_name(func)}. The graph would hold for this value only: decide by "
                "shapes, or with facula.where."
            )
        self._n_inside += 1
        try:
            result = func(*args, **kwargs)
        finally:
            self._n_inside -= 1
        # Some operations are called for what they do to a tensor, and give nothing.
        acts = name in ("__setitem__", "__set__", "backward")
        if self.enable_tracing and (acts or _has_tensors(result)):
            self.record(func, args, kwargs, result)
        return result

    def _depends_on_inputs(self, value: Any) -> bool:
        known = self.tracer.known.get(id(value))
        return known is not None and known[1] not in self._fixed

    def record(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        """Add the node of an operation that was done.

        Args:
            func: the operation.
            args: its positional arguments.
            kwargs: its arguments by name.
            result: what it gave.
        """
        node = self._node(func, args, kwargs)
        used = node.all_input_nodes
        if not node.is_impure():
            if all(each in self._fixed for each in used):
                self._fixed.add(node)
        elif not self._fixed.isdisjoint(used):
            self._fixed.clear()  # others may be views of what was changed
        self._track(result, node)

    def _track(self, value: Any, node: Node) -> None:
        if isinstance(value, facula.Tensor):
            self.tracer.track(value, node)
        elif isinstance(value, (list, tuple)) and _has_tensors(value):
            for i, item in enumerate(value):
                part = self.tracer.create_node("call_function", operator.getitem, (node, i), {})
                if node in self._fixed:
                    self._fixed.add(part)
                self._track(item, part)

    def _node(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Node:
        create_node = self.tracer.create_node
        given = self.tracer.create_arg(args)
        named = self.tracer.create_arg(kwargs)
        name = func.__name__
        if name in ("__get__", "__set__"):
            attribute = func.__self__.__name__  # type: ignore[attr-defined]
            function: Any = getattr if name == "__get__" else setattr
            return create_node("call_function", function, (given[0], attribute, *given[1:]), {})
        if name in ("__getitem__", "__setitem__"):
            return create_node("call_function", getattr(operator, name[2:-2]), given, {})
        if facula.overrides.is_tensor_method_or_property(func):
            return create_node("call_method", name, given, named)
        return create_node("call_function", func, given, named)

    def run_backward(self, original: Callable[..., Any], *args: Any) -> Any:
        """The engine's entry while tracing: gradients are the results of one node.

        Args:
            original: the engine's entry.
            args: its arguments.
        """
        result = original(*args)
        if self.enable_tracing and not self._n_inside:
            self.record(original, args, {}, result)
        return result


def _has_tensors(value: Any) -> bool:
    found = False

    def note(x: Any) -> Any:
        nonlocal found
        found = found or isinstance(x, facula.Tensor)
        return x

    map_aggregate(value, note)
    return found


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Any = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
) -> Callable[..., GraphModule]:
    """A function that runs ``f`` on its arguments and gives the graph of the operations done.

    Nodes call the functions and methods of Facula that were called; PyTorch's call those that they
    are made of. Sizes in the graph are those of the arguments. Gradients are one node.

    Args:
        f: the function or module; its arguments are tensors, and trees of them.
        decomposition_table: must be None: operations are not taken apart.
        tracing_mode: ``"real"``, or ``"fake"``, which does the same; graphs for other sizes,
            ``"symbolic"``, are not made.
        pre_dispatch: accepted for programs that give it.
        record_module_stack: accepted for programs that give it.

    Example:
        >>> from facula.fx.experimental.proxy_tensor import make_fx
        >>> def f(x, y):
        ...     return facula.softmax(x @ y.T, dim=-1)
        >>> print(make_fx(f)(facula.rand(2, 3), facula.rand(4, 3)).code.strip())
        def forward(self, x_1, y_1):
            getattr_1 = y_1.T;  y_1 = None
            matmul = x_1.matmul(getattr_1);  x_1 = getattr_1 = None
            softmax = facula.softmax(matmul, dim = -1);  matmul = None
            return softmax
    """
    if decomposition_table:
        raise NotImplementedError(
            "make_fx: operations are not taken apart: decomposition_table must be None."
        )
    if tracing_mode not in ("real", "fake"):
        raise NotImplementedError(
            f"make_fx: expected tracing_mode 'real' or 'fake', got {tracing_mode!r}. Sizes in the "
            "graph are those of the arguments; trace again for others."
        )

    @functools.wraps(f)
    def wrapped(*args: Any) -> GraphModule:
        tracer = PythonKeyTracer()
        names = _parameter_names(f, len(args))
        specs = []
        for name, arg in zip(names, args, strict=True):
            leaves, spec = pytree.tree_flatten(arg)
            specs.append(spec)
            for i, leaf in enumerate(leaves):
                node = tracer.graph.placeholder(f"{name}_{i + 1}")
                if isinstance(leaf, facula.Tensor):
                    tracer.track(leaf, node)
        mode = ProxyTorchDispatchMode(tracer, _error_on_data_dependent_ops)
        with mode, Patcher().active() as patcher:
            original = _core._run_backward
            run_backward = functools.partial(mode.run_backward, original)
            patcher.patch(vars(_core), "_run_backward", run_backward)
            result = f(*args)
        if not all(spec.is_leaf() for spec in specs):
            result, out_spec = pytree.tree_flatten(result)
            info = _PyTreeInfo(names, pytree.treespec_tuple(specs), out_spec)
            tracer.graph.set_codegen(_PyTreeCodeGen(info))
        tracer.graph.output(tracer.create_arg(result))
        return GraphModule(tracer.root, tracer.graph, getattr(f, "__name__", type(f).__name__))

    return wrapped


def _parameter_names(f: Callable[..., Any], n_args: int) -> list[str]:
    function = f.forward if isinstance(f, Module) else f
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.kind in positional]
    return [names[i] if i < len(names) else f"arg{i}" for i in range(n_args)]


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The mode of :func:`make_fx` that is active; None if there is none."""
    return _active[-1] if _active else None


@contextmanager
def disable_proxy_modes_tracing() -> Iterator[ProxyTorchDispatchMode | None]:
    """Within the context operations are not recorded, even inside of :func:`make_fx`."""
    mode = get_proxy_mode()
    before = mode is None or mode.enable_tracing
    if mode is not None:
        mode.enable_tracing = False
    try:
        yield mode
    finally:
        if mode is not None:
            mode.enable_tracing = before


def get_isolated_graphmodule(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tracing_mode: str = "real",
    decomposition_table: Any = None,
) -> GraphModule:
    """As :func:`make_fx`, with the arguments given, also where another trace is going on.

    Args:
        func: the function.
        args: its positional arguments.
        kwargs: its arguments by name.
        tracing_mode: as that of :func:`make_fx`.
        decomposition_table: must be None.
    """
    leaves, spec = pytree.tree_flatten((args, kwargs))

    def of_leaves(*values: Any) -> Any:
        given, named = pytree.tree_unflatten(values, spec)
        return func(*given, **named)

    with disable_proxy_modes_tracing():
        return make_fx(of_leaves, decomposition_table, tracing_mode)(*leaves)
