"""Tracing: a function or module is run once with proxies, and what it does becomes a graph."""

from __future__ import annotations

import functools
import inspect
import math
import threading
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import facula
from facula._warnings import warn_user
from facula.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from facula.fx._patch import (
    Patcher,
    autowrap,
    find_proxy,
    patch_wrapped,
    recorded,
    recorded_method,
    wrap,
)
from facula.fx._patch import _wrapped_fns_to_patch as _wrapped_fns_to_patch
from facula.fx._patch import _wrapped_methods_to_patch as _wrapped_methods_to_patch
from facula.fx.graph import Graph
from facula.fx.graph_module import GraphModule
from facula.fx.node import Argument, base_types
from facula.fx.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from facula.nn import Module, Parameter
from facula.utils import _pytree as pytree

__all__ = ["PH", "ProxyableClassMeta", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

# PyTorch's names; packages import them from here.
_find_proxy = find_proxy
_create_wrapped_func = recorded
_create_wrapped_method = recorded_method
_Patcher = Patcher

_orig_module_call = Module.__call__
_orig_module_getattr = Module.__getattr__

_VARARGS = inspect.CO_VARARGS
_VARKEYWORDS = inspect.CO_VARKEYWORDS

_n_tracing = 0


def is_fx_tracing() -> bool:
    """Whether a program is being traced.

    Example:
        >>> facula.fx._symbolic_trace.is_fx_tracing()
        False
    """
    return _n_tracing > 0


is_fx_symbolic_tracing = is_fx_tracing


class PHBase:
    """Stands for an input in ``concrete_args``: what is there is not known while tracing."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """An input that has a name of its own.

    Args:
        ph_key: the name.
    """

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key

    def transfer_meta(self, node: Any) -> None:
        """Give the name to a node.

        Args:
            node: the node of the input.
        """
        if self.ph_key is not None:
            node.meta["ph_key"] = self.ph_key


class ProxyableClassMeta(type):
    """A metaclass: making an object of the class from proxies is recorded as a call of the class.

    Example:
        >>> class Pair(metaclass=facula.fx.ProxyableClassMeta):
        ...     def __init__(self, a, b):
        ...         self.a, self.b = a, b
        >>> traced = facula.fx.symbolic_trace(lambda x: Pair(x, x + 1))
        >>> traced(1).b
        2
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return super().__call__(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", cls, args, kwargs)


def _without_stars(fn: Callable[..., Any], n_args: int) -> Callable[..., Any]:
    """The function with all its parameters positional: ``*args`` and ``**kwargs`` are one each.

    So the inputs of a graph are as many as the parameters, and what a function does with
    ``args[0]`` is recorded as what it does with any other input.
    """
    code = fn.__code__
    code = code.replace(
        co_argcount=n_args,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~(_VARARGS | _VARKEYWORDS),
    )
    return types.FunctionType(code, fn.__globals__, fn.__name__, None, fn.__closure__)


def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


class Tracer(TracerBase):
    """Makes a graph of a function or a module. Override methods to decide what is recorded how.

    Args:
        autowrap_modules: modules of Python whose functions are recorded as calls.
        autowrap_functions: functions that are recorded as calls.
        param_shapes_constant: whether the shapes of parameters are numbers while tracing, so that
            a program may decide by them.

    Example:
        >>> from facula import nn
        >>> class Whole(facula.fx.Tracer):
        ...     def is_leaf_module(self, m, module_qualified_name):
        ...         return isinstance(m, nn.Sequential)
        >>> net = nn.Sequential(nn.Sequential(nn.Linear(2, 3), nn.ReLU()), nn.Linear(3, 1))
        >>> class Net(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.net = net
        ...     def forward(self, x):
        ...         return self.net(x).sum()
        >>> print(Whole().trace(Net()))
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %net : [num_users=1] = call_module[target=net](args = (%x,), kwargs = {})
            %sum_1 : [num_users=1] = call_method[target=sum](args = (%net,), kwargs = {})
            return sum_1
    """

    root: Module

    def __init__(
        self,
        autowrap_modules: tuple[types.ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        }
        self._autowrap_function_ids.update(id(function) for function in autowrap_functions)
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope: dict[str, tuple[str, Any]] = {}
        self.tensor_attrs: dict[Any, str] = {}

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that the root does not have: the prefix, and a number.

        Args:
            prefix: the beginning of the name.
        """
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_arg(self, a: Any) -> Argument:
        """As :meth:`TracerBase.create_arg`; parameters, tensors and modules become ``get_attr``.

        A tensor that the root does not have is given to it, as ``_tensor_constant0`` and so on.

        Args:
            a: the argument.
        """
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, facula.Tensor):
            for name, buffer in self.root.named_buffers():
                if buffer is a:
                    return self.create_node("get_attr", name, (), {})
            return self.create_node("get_attr", self._constant(a), (), {})
        if isinstance(a, Module):
            for name, module in self.root.named_modules():
                if module is a:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(type(a), ProxyableClassMeta):
            return self._kept(a)
        return super().create_arg(a)

    def _constant(self, tensor: facula.Tensor) -> str:
        path = self.tensor_attrs.get(tensor)
        if path is None:
            path = self.get_fresh_qualname("_tensor_constant")
            self.tensor_attrs[tensor] = path
            setattr(self.root, path, tensor)
        return path

    def _kept(self, a: Any) -> Argument:
        """An object that was made without proxies, as a constant of the root."""
        name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
        setattr(self.root, name, a)
        return self.create_node("get_attr", name, (), {})

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether the call of a module is one step, rather than what the module does.

        That is so for the modules of ``facula.nn`` except :class:`~facula.nn.Sequential`.

        Args:
            m: the module.
            module_qualified_name: its path below the root.
        """
        # The second is what our classes say under `facula run`.
        is_ours = type(m).__module__.startswith(("facula.nn", "torch.nn"))
        return is_ours and not isinstance(m, facula.nn.Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path of a module below the root.

        Args:
            mod: the module.
        """
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(
        self,
        m: Module,
        forward: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """What the call of a module gives while tracing: a proxy of it, or of what it does.

        Args:
            m: the module.
            forward: does what the module does.
            args: the positional arguments.
            kwargs: the arguments by name.
        """
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            # A module that is called twice has two entries, so that they can be told apart.
            n_calls = self.num_calls.get(path, 0)
            key = f"{scope.module_path}@{n_calls}" if n_calls else scope.module_path
            self.module_stack[key] = (path, scope.module_type)
            self.num_calls[path] = n_calls + 1
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem()

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What reading a parameter, buffer or module of a module gives while tracing.

        Args:
            attr: the name of the attribute.
            attr_val: its value.
            parameter_proxy_cache: the proxies of parameters that were read before, by path.
        """
        if isinstance(attr_val, Parameter):
            return self._proxy_of(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, facula.Tensor):
            return self._proxy_of(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _proxy_of(self, value: Any, named: Iterator[tuple[str, Any]], cache: dict[str, Any]) -> Any:
        path = next((name for name, each in named if each is value), None)
        if path is None:
            return value
        if path not in cache:
            factory = None
            if self.param_shapes_constant and isinstance(value, Parameter):

                def factory(node: Any) -> ParameterProxy:
                    return ParameterProxy(self, node, path, value)

            cache[path] = self.create_proxy("get_attr", path, (), {}, proxy_factory_fn=factory)
        return cache[path]

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Inputs for the parameters of a function; gives a function and what it is called with.

        Args:
            root_fn: the function.
            is_module: whether its first parameter is the root.
            concrete_args: values of parameters that are no inputs.
        """
        inner = inspect.unwrap(root_fn)
        code = inner.__code__
        n_args = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        skipped = 1 if is_module else 0
        if is_module and n_args == 0:
            raise RuntimeError("`self` argument cannot be part of *args expansion!")
        args: list[Any] = [self.root] if is_module else []
        given = names[skipped:n_args]
        if isinstance(concrete_args, tuple):
            if len(given) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(given)} arguments but got {len(concrete_args)} "
                    "concrete arguments"
                )
            concrete_args = dict(zip(given, concrete_args, strict=True))
        signature = inspect.signature(inner)
        args += [self._input(name, signature, concrete_args) for name in given]
        n_stars = bool(code.co_flags & _VARARGS) + bool(code.co_flags & _VARKEYWORDS)
        if n_stars or code.co_kwonlyargcount:
            stars = ["*", "**"] if n_stars == 2 else ["*" if code.co_flags & _VARARGS else "**"]
            for i, star in enumerate(stars[:n_stars]):
                args.append(self._input(star + names[n_args + i], signature, {}))
            root_fn = _without_stars(inner, len(args))
        if concrete_args is None:
            return root_fn, args
        return self._with_trees(root_fn, args, names[:n_args])

    def _with_trees(
        self, root_fn: Callable[..., Any], args: list[Any], names: list[str]
    ) -> tuple[Callable[..., Any], list[Any]]:
        """If an argument is a tree of inputs: a function of its leaves, which are the inputs."""
        flat_args, in_spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in in_spec.children_specs):
            return root_fn, args
        # The root is not an input of the generated function.
        shown = names[1:] if args and args[0] is self.root else names
        spec = in_spec
        if args and args[0] is self.root:
            spec = pytree.tree_structure(tuple(args[1:]))
        codegen = _PyTreeCodeGen(_PyTreeInfo(shown, spec, None))
        self.graph.set_codegen(codegen)

        def of_leaves(*leaves: Any) -> list[Any]:
            result = root_fn(*pytree.tree_unflatten(list(leaves), in_spec))
            outputs, out_spec = pytree.tree_flatten(result)
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return outputs

        return of_leaves, flat_args

    def _input(
        self, name: str, signature: inspect.Signature, concrete_args: dict[str, Any] | None
    ) -> Any:
        """A proxy for a parameter; or its concrete value, with proxies where it has PH."""
        if concrete_args is not None and name in concrete_args:
            number = 0

            def leaf(x: Any) -> Any:
                nonlocal number
                number += 1
                return self._concrete(x, name, f"{name}_{number}", signature)

            return pytree.tree_map(leaf, concrete_args[name])
        return self._placeholder(name, signature.parameters.get(name.lstrip("*")))

    def _placeholder(
        self, name: str, parameter: inspect.Parameter | None, wished: str | None = None
    ) -> Proxy:
        default: tuple[Any, ...] = ()
        type_expr = None
        if parameter is not None and not name.startswith("*"):
            if parameter.default is not inspect.Parameter.empty:
                default = (parameter.default,)
            type_expr = getattr(self, "_annotations", {}).get(name)
        return self.create_proxy("placeholder", wished or name, default, {}, type_expr=type_expr)

    def _concrete(self, x: Any, name: str, wished: str, signature: inspect.Signature) -> Any:
        """An input for a leaf of a concrete argument, and a check that it has the same value."""
        if isinstance(x, PHBase):
            proxy = self.create_proxy("placeholder", wished, (), {})
            if isinstance(x, PHWithMeta):
                x.transfer_meta(proxy.node)
            return proxy
        proxy = self._placeholder(name, signature.parameters.get(name), wished)
        words = f"{name} has been specialized to have value {x} but got another value"
        if isinstance(x, base_types) and not isinstance(x, facula.Tensor):
            facula._assert(proxy == x, words)
        elif x is None:
            self.create_proxy("call_function", _assert_is_none, (proxy, words), {})
        else:
            warn_user(
                f"Was not able to add assertion to guarantee correct input {name} to specialized "
                "function. It is up to the user to make sure that your inputs match the inputs you "
                "specialized the function with.",
            )
        return x

    def trace(
        self,
        root: Module | Callable[..., Any],
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> Graph:
        """The graph of a module or function.

        Args:
            root: the module or function.
            concrete_args: values for some parameters, by name: the graph holds for these values
                only, and checks them. A value may be a tree in which :data:`PH` stands for inputs.
        """
        function = self._set_root(root)
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {}
        self._collect_tensors(self.root, "")
        self._annotations = _annotations(function)
        with _tracing(), Patcher().active() as patcher:
            fn, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
            self._patch_modules(patcher)
            patch_wrapped(patcher)
            autowrap(patcher, getattr(fn, "__globals__", {}), self._autowrap_function_ids)
            inner = inspect.unwrap(function)
            autowrap(patcher, getattr(inner, "__globals__", {}), self._autowrap_function_ids)
            for module in self._autowrap_search:
                autowrap(patcher, module.__dict__, self._autowrap_function_ids)
            result = self.create_arg(fn(*args))
            self.create_node(
                "output", "output", (result,), {}, type_expr=self._annotations.get("return")
            )
        self.submodule_paths = None
        return self.graph

    def _set_root(self, root: Module | Callable[..., Any]) -> Callable[..., Any]:
        """Take a module as the root, or an empty one for a function; gives the function."""
        if isinstance(root, Module):
            self.root = root
            self.root_module_name = root._get_name() if hasattr(root, "_get_name") else ""
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(
                    f"traced_func_name={self.traced_func_name} doesn't exist in {type(root)}"
                )
            self.submodule_paths = {module: name for name, module in root.named_modules()}
            function: Callable[..., Any] = getattr(type(root), self.traced_func_name)
            return function
        # PyTorch's type of error; parameters of functions in C++ have no names to go by.
        if not callable(root) or not hasattr(inspect.unwrap(root), "__code__"):
            raise AssertionError(
                "fx: expected a module or a function written in Python to trace, got "
                f"{getattr(root, '__name__', root)!r}."
            )
        self.root = Module()
        return root

    def _collect_tensors(self, module: Module, prefix: str) -> None:
        """Note the tensors that modules have as plain attributes: they are no constants of ours."""
        for name, value in module.__dict__.items():
            if isinstance(value, facula.Tensor):
                self.tensor_attrs[value] = prefix + name
        for name, child in module.named_children():
            self._collect_tensors(child, f"{prefix}{name}.")

    def _patch_modules(self, patcher: Patcher) -> None:
        """Let calls and attributes of modules come to this tracer."""
        cache: dict[str, Any] = {}
        function_ids = self._autowrap_function_ids
        # Modules that run in other threads meanwhile are not part of the program.
        owner = threading.get_ident()

        @functools.wraps(_orig_module_call)
        def call(mod: Module, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != owner:
                return _orig_module_call(mod, *args, **kwargs)

            def forward(*args: Any, **kwargs: Any) -> Any:
                return _orig_module_call(mod, *args, **kwargs)

            autowrap(patcher, getattr(mod.forward, "__globals__", {}), function_ids)
            return self.call_module(mod, forward, args, kwargs)

        # Parts of a module are found without __getattr__ (see nn.Module), so all reading is
        # watched here: what comes from one of the tables is the tracer's to give.
        def getattribute(mod: Module, name: str) -> Any:
            value = object.__getattribute__(mod, name)
            is_part = isinstance(value, (facula.Tensor, Module))
            if is_part and threading.get_ident() == owner:
                own = object.__getattribute__(mod, "__dict__")
                if name not in own and _is_part(own, name):
                    return self.getattr(name, value, cache)
            return value

        def getattr_(mod: Module, name: str) -> Any:
            value = _orig_module_getattr(mod, name)
            if threading.get_ident() != owner:
                return value
            return self.getattr(name, value, cache)

        patcher.patch_method(Module, "__getattribute__", getattribute)
        patcher.patch_method(Module, "__getattr__", getattr_)
        patcher.patch_method(Module, "__call__", call)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new


def _is_part(own: dict[str, Any], name: str) -> bool:
    return any(name in own.get(table, ()) for table in ("_parameters", "_buffers", "_modules"))


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of parameters and of the result; those in quotes are looked up."""
    inner = inspect.unwrap(function)
    found = dict(getattr(inner, "__annotations__", {}))
    if any(isinstance(value, str) for value in found.values()):
        try:
            found = inspect.get_annotations(inner, eval_str=True)
        except Exception:  # a name that exists for type checkers only
            found = {name: value for name, value in found.items() if not isinstance(value, str)}
    return {name: value for name, value in found.items() if value is not Any}  # says nothing


@contextmanager
def _tracing() -> Iterator[None]:
    global _n_tracing
    _n_tracing += 1
    try:
        yield
    finally:
        _n_tracing -= 1


def symbolic_trace(
    root: Module | Callable[..., Any],
    concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
) -> GraphModule:
    """Trace a module or function: a module that does the same, with a graph that can be changed.

    The program is run once with proxies in the place of its inputs. What depends on their values,
    such as an ``if`` or a loop, cannot be recorded.

    Args:
        root: the module or function.
        concrete_args: values for some parameters, by name: the result holds for these values
            only, and checks them. A value may be a tree in which ``fx.PH`` stands for inputs.

    Example:
        >>> from facula import nn
        >>> net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
        >>> traced = facula.fx.symbolic_trace(net)
        >>> print(traced.code.strip())
        def forward(self, input):
            input_1 = input
            _0 = getattr(self, "0")(input_1);  input_1 = None
            _1 = getattr(self, "1")(_0);  _0 = None
            return _1
        >>> x = facula.ones(4, 3)
        >>> facula.equal(traced(x), net(x))
        True
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = (
        type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", "function")
    )
    return _make_graph_module(tracer.root, graph, name)


def _make_graph_module(root: Module, graph: Graph, class_name: str) -> GraphModule:
    return GraphModule(root, graph, class_name)
