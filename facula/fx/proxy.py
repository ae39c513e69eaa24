"""Proxies: what a program is given instead of tensors, to record what it does with them.

Every operation of the package enters at the seam (:mod:`facula.overrides`), which asks a proxy
among its arguments for the result; operators, methods and attributes are the proxy's own. Each
gives a new proxy for a new node.
"""

from __future__ import annotations

import dataclasses
import dis
import enum
import inspect
import operator
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import facula
from facula.fx import _names
from facula.fx import traceback as fx_traceback
from facula.fx._codegen import magic_methods, reflectable_magic_methods
from facula.fx.graph import Graph
from facula.fx.immutable_collections import immutable_dict, immutable_list
from facula.fx.node import Argument, Node, Target, base_types, map_aggregate

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "MetaProxy",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]


class TraceError(ValueError):
    """A program does something that cannot be recorded, because it depends on values."""


class Scope:
    """The module that is being traced.

    Args:
        module_path: its path below the root.
        module_type: its class.
    """

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """Makes a scope the current one for as long as the context lasts.

    Args:
        scope: the scope of the tracer, which is changed.
        current_scope: what it becomes.
    """

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._before = Scope(scope.module_path, scope.module_type)
        self._scope = scope
        scope.module_path = current_scope.module_path
        scope.module_type = current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *error: object) -> None:
        self._scope.module_path = self._before.module_path
        self._scope.module_type = self._before.module_type


class TracerBase:
    """What all tracers do: nodes for calls, and arguments as nodes can have them."""

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    # Whether `assert` on a proxy is recorded as a call of facula._assert.
    trace_asserts: bool = False
    # Whether buffers that a program reads become nodes at once, as parameters do.
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: OrderedDict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node to the graph. Override it to see or change all nodes.

        Args:
            kind: the kind of node.
            target: what is called or read.
            args: the positional arguments.
            kwargs: the arguments by name.
            name: the name that is wished for.
            type_expr: the type of the result.
        """
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        meta = fx_traceback.get_current_meta()
        if fx_traceback.has_preserved_node_meta() and meta:
            node.meta.update(meta)
        if getattr(self, "module_stack", None):
            node.meta["nn_module_stack"] = OrderedDict(self.module_stack)
        return node

    def proxy(self, node: Node) -> Proxy:
        """The proxy for a node.

        Args:
            node: the node.
        """
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Record a step: a node for it, whose arguments may be anything, and a proxy of the node.

        Args:
            kind: the kind of node.
            target: what is called or read.
            args: the positional arguments, with proxies.
            kwargs: the arguments by name, with proxies.
            name: the name that is wished for.
            type_expr: the type of the result.
            proxy_factory_fn: makes the proxy; :meth:`proxy` by default.
        """
        given, named = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(given, tuple) or not isinstance(named, dict):
            raise TypeError("create_arg must give a tuple for a tuple, and a dict for a dict.")
        node = self.create_node(kind, target, given, named, name, type_expr)
        proxy = self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)
        if self.record_stack_traces and not node.stack_trace:
            node.stack_trace = _names.user_stack()
        return proxy

    def create_arg(self, a: Any) -> Argument:
        """What a node can have as argument, for an argument of a traced program.

        Override it to let nodes have arguments of other types.

        Args:
            a: the argument.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            if type(a) is tuple:
                return tuple(items)
            return type(a)(*items) if hasattr(a, "_fields") else type(a)(items)
        if isinstance(a, list):
            return immutable_list([self.create_arg(item) for item in a])
        if isinstance(a, dict):
            return immutable_dict((self._key(k), self.create_arg(v)) for k, v in a.items())
        if isinstance(a, slice):
            return slice(*(self.create_arg(part) for part in (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*(self.create_arg(part) for part in (a.start, a.stop, a.step)))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        if isinstance(a, (type, types.FunctionType, types.BuiltinFunctionType)) or callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key: Any) -> Any:
        found = self.create_arg(key)

        def refuse(arg: Any) -> Any:
            if isinstance(arg, Node):
                raise RuntimeError(
                    "Keys for dictionaries used as an argument cannot contain a Node. Got key: "
                    f"{key}"
                )
            return arg

        return map_aggregate(found, refuse)

    def to_bool(self, obj: Proxy) -> bool:
        """Called when a program asks whether a proxy is true: refuses, because that is unknown.

        Args:
            obj: the proxy.
        """
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow: the value of "
            f"{obj.node.name!r} is not known while the program is traced. Give the arguments that "
            "decide as concrete_args, or hide the branch in a function marked with fx.wrap."
        )

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Called when a program goes over a proxy: refuses, because the number is unknown.

        Args:
            obj: the proxy.
        """
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
            "loop or as a *args or **kwargs function argument: how many items "
            f"{obj.node.name!r} has is not known while the program is traced. Hide the loop in a "
            "function marked with fx.wrap, or in a module that the tracer takes for a leaf."
        )

    def keys(self, obj: Proxy) -> Any:
        """Called when a program asks a proxy for its keys, as ``**proxy`` does.

        Args:
            obj: the proxy.
        """
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """A tracer that adds to a graph that is there already.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()


def assert_fn(x: Any) -> None:
    """Raise an AssertionError unless ``x`` is true."""
    if not x:
        raise AssertionError


class Proxy:
    """Stands for the result of a node while a program is traced.

    What is done with it is recorded, and gives other proxies. Its value is not known: it cannot
    decide which way an ``if`` goes, or how often a loop runs.

    Args:
        node: the node.
        tracer: what records; if it is None, nodes are added to the graph of the node.

    Example:
        >>> graph = facula.fx.Graph()
        >>> x = facula.fx.Proxy(graph.placeholder("x"))
        >>> y = facula.cat([x, x.neg()]) * 2
        >>> [node.name for node in graph.nodes]
        ['x', 'neg', 'cat', 'mul']
    """

    # NumPy's numbers leave operators to the proxy: 2.0 * x and np.float64(2.0) * x are the same.
    __array_ufunc__ = None

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        # A copy made without __init__ has no tracer yet, and asks for it here without end.
        if k in ("tracer", "node"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        # A second proxy for the same node: tracers and graphs are not copied behind the scenes.
        return type(self)(self.node, self.tracer)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        number = _number_unpacked(sys._getframe(1))
        if number is not None:
            indexable: Any = self
            return (indexable[i] for i in range(number))
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            is_assert, message = _assertion(sys._getframe(1))
            if is_assert:
                args = (self, message)
                self.tracer.create_proxy("call_function", facula._assert, args, {})
                return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """The keys of a dict that the proxy stands for."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls,
        orig_method: Any,
        types: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        args = args or ()
        kwargs = kwargs or {}
        tracers: dict[int, TracerBase] = {}

        def note(a: Any) -> Any:
            if isinstance(a, Proxy):
                tracers[id(a.tracer)] = a.tracer
            return a

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers.values())} while trying to trace "
                f"operations {orig_method}"
            )
        (tracer,) = tracers.values()
        name = orig_method.__name__
        if name in ("__get__", "__set__"):  # a property, of the descriptor it is a method of
            attribute = orig_method.__self__.__name__
            function: Any = getattr if name == "__get__" else setattr
            given = (args[0], attribute, *args[1:])
            return tracer.create_proxy("call_function", function, given, {})
        if facula.overrides.is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", name, args, kwargs)
        if str(orig_method.__module__).endswith(".nn.functional"):
            args, kwargs = _with_defaults(orig_method, args, kwargs)
        # einsum(equation, [x, y]) is recorded with the operands themselves, as PyTorch does it:
        # passes look for them among the arguments of the node.
        if orig_method is facula.einsum and len(args) == 2 and isinstance(args[1], (list, tuple)):
            args = (args[0], *args[1])
        wished = tracer.graph._target_to_str(name)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=wished)


def _with_defaults(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as PyTorch hands on those of `nn.functional`: what has a default by name."""
    if not isinstance(function, facula._core._Operation):
        return args, kwargs  # PyTorch has it in C++, too, and hands on what it was given
    signature = inspect.signature(function)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    empty = inspect.Parameter.empty
    required = {name for name, p in signature.parameters.items() if p.default is empty}
    return (
        tuple(value for name, value in bound.arguments.items() if name in required),
        {name: value for name, value in bound.arguments.items() if name not in required},
    )


class MetaProxy(Proxy):
    """A proxy that knows a tensor of the shape and dtype of its result.

    Args:
        node: the node.
        tracer: what records.
        fake_mode: kept for programs that give it.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None, fake_mode: Any = None) -> None:
        super().__init__(node, tracer)
        self.fake_mode = fake_mode

    def __repr__(self) -> str:
        return f"MetaProxy({self.node.name})"


class Attribute(Proxy):
    """An attribute of a proxy.

    Called, it is a method. The node for its value is made only if somebody uses it: until then
    nobody knows which of the two it is.

    Args:
        root: the proxy.
        attr: the name of the attribute.
    """

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute, made when it is first asked for."""
        if self._node is None:
            args = (self.root, self.attr)
            self._node = self.tracer.create_proxy("call_function", getattr, args, {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        return Attribute(self.root, self.attr)


class ParameterProxy(Proxy):
    """A proxy of a parameter, whose shape is known.

    Args:
        tracer: what records.
        node: the node that reads the parameter.
        name: the path of the parameter.
        param: the parameter.
    """

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, facula.nn.Parameter):
            raise AssertionError(f"ParameterProxy: expected a Parameter, got {type(param)}")
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The sizes of the parameter."""
        return self.param.shape

    def size(self, dim: int | None = None) -> Any:
        """The sizes of the parameter, or its size along a dimension.

        Args:
            dim: the dimension; None for all.
        """
        return self.param.size() if dim is None else self.param.size(dim)

    def dim(self) -> int:
        """The number of dimensions of the parameter."""
        return int(self.param.dim())

    @property
    def ndim(self) -> int:
        """The number of dimensions of the parameter."""
        return int(self.param.ndim)

    def numel(self) -> int:
        """The number of elements of the parameter."""
        return int(self.param.numel())

    def nelement(self) -> int:
        """The number of elements of the parameter."""
        return int(self.param.nelement())


def _instructions(frame: types.FrameType) -> tuple[list[dis.Instruction], int]:
    """The instructions of a frame, and the place of the one that is running."""
    found = [i for i in dis.get_instructions(frame.f_code) if i.opname not in ("CACHE", "NOP")]
    places = [place for place, each in enumerate(found) if each.offset <= frame.f_lasti]
    return found, places[-1] if places else 0


def _number_unpacked(frame: types.FrameType) -> int | None:
    """The number of variables in ``a, b = proxy``, if that is what the frame is doing."""
    instructions, place = _instructions(frame)
    current = instructions[place]
    return int(current.argval) if current.opname == "UNPACK_SEQUENCE" else None


def _assertion(frame: types.FrameType) -> tuple[bool, str | None]:
    """Whether the frame is at an ``assert``, and its message, if that is a constant."""
    instructions, place = _instructions(frame)
    following = instructions[place:]
    names = [each.opname for each in following[:4]]
    if names[:1] == ["TO_BOOL"]:  # since Python 3.13
        names, following = names[1:], following[1:]
    is_assert = (
        len(names) > 1
        and "JUMP" in names[0]
        and names[0].endswith("IF_TRUE")
        and ("ASSERTION_ERROR" in names[1] or following[1].argval is AssertionError)
    )
    if is_assert and len(names) > 2 and names[2] == "LOAD_CONST":
        return True, str(following[2].argval)
    return is_assert, None


def _operator(name: str) -> Callable[..., Any]:
    target = getattr(operator, name)

    def method(*args: Any, **kwargs: Any) -> Any:
        return args[0].tracer.create_proxy("call_function", target, args, kwargs)

    return method


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    target = getattr(operator, name)

    def method(self: Any, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", target, (other, self), {})

    return method


def _define_operators() -> None:
    for name in magic_methods:
        if hasattr(operator, name):
            method = _operator(name)
            method.__name__ = f"__{name.strip('_')}__"
            setattr(Proxy, method.__name__, method)
    for name in reflectable_magic_methods:
        if hasattr(operator, name) and name != "getitem":
            method = _reflected(name)
            method.__name__ = f"__r{name.strip('_')}__"
            setattr(Proxy, method.__name__, method)
    # Comparing by value must not make proxies unfit for sets: hash(proxy) is its identity.
    Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


_define_operators()
