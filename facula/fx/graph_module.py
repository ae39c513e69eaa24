"""Modules whose ``forward`` is the code of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import os
import textwrap
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import facula
from facula import _one_step
from facula.fx import _names
from facula.fx._codegen import PythonCode, _PyTreeCodeGen
from facula.fx.graph import Graph
from facula.nn import Module

__all__ = ["GraphModule", "reduce_graph_module"]

_n_sources = itertools.count()
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


def _exec_with_source(src: str, globals: dict[str, Any], co_fields: Any = None) -> str:
    """Run code whose lines a traceback can show; gives the name under which it finds them."""
    name = f"<eval_with_key>.{next(_n_sources)}"
    # Python's own way to show sources without files.
    linecache.cache[name] = (len(src), None, src.splitlines(keepends=True), name)
    exec(compile(src, name, "exec"), globals)
    return name


def _forward_from_src(
    src: str, globals: dict[str, Any], co_fields: Any = None
) -> Callable[..., Any]:
    return _method_from_src("forward", src, globals, co_fields)


def _method_from_src(
    method_name: str, src: str, globals: dict[str, Any], co_fields: Any = None
) -> Callable[..., Any]:
    namespace = dict(globals)
    source = _exec_with_source(src, namespace, co_fields)
    method: Callable[..., Any] = namespace.pop(method_name)
    # A graph may be compiled again and again: what is kept for its code goes with the code.
    weakref.finalize(method, linecache.cache.pop, source, None)
    for key in [key for key in _one_step.marked if key[0] == id(namespace)]:
        weakref.finalize(method, _one_step.marked.pop, key, None)
    return method


def _format_import_statement(name: str, obj: Any) -> str:
    """The line that makes a global of generated code again."""
    if name in _names.CUSTOM_BUILTINS:
        return _names.CUSTOM_BUILTINS[name][0]
    if isinstance(obj, type(facula)):
        return f"import {obj.__name__} as {name}"
    module = getattr(obj, "__module__", None)
    own = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    if module is None or own is None or "<" in own:
        raise RuntimeError(
            f"GraphModule: the code refers to {obj!r}, which cannot be imported, so it cannot be "
            "saved. Define it at the top of a module."
        )
    module = "operator" if module == "_operator" else module
    if "." in own:
        first = own.partition(".")[0]
        return f"from {module} import {first} as _{name}; {name} = _{name}{own[len(first) :]}"
    return f"from {module} import {own} as {name}"


def _format_import_block(globals: dict[str, Any], importer: Any = None) -> str:
    return "\n".join({_format_import_statement(name, obj) for name, obj in globals.items()})


def _path_parts(path: str) -> tuple[list[str], str]:
    *prefix, name = path.split(".")
    return prefix, name


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Give a module the attribute that another has at a path; modules on the way are made."""
    prefix, name = _path_parts(target)
    for part in prefix:
        source = getattr(from_module, part)
        found = getattr(to_module, part, None)
        if found is source:
            return  # the module as a whole was copied before
        if found is None:
            found = Module()
            setattr(to_module, part, found)
        from_module, to_module = source, found
    _set_part(to_module, name, getattr(from_module, name))


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    """Set the attribute at a path; modules on the way are made."""
    prefix, name = _path_parts(target)
    for part in prefix:
        if getattr(to_module, part, None) is None:
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    _set_part(to_module, name, from_obj)


def _set_part(module: Module, name: str, value: Any) -> None:
    # A plain tensor becomes a buffer, so that it moves and is saved with the module.
    if isinstance(value, facula.Tensor) and not isinstance(value, facula.nn.Parameter):
        if hasattr(module, name):
            delattr(module, name)
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _get_attr(model: Module, attr_name: str) -> Any:
    value: Any = model
    for part in attr_name.split("."):
        value = getattr(value, part)
    return value


def _has_attr(model: Module, attr_name: str) -> bool:
    value: Any = model
    for part in attr_name.split("."):
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def _del_attr(model: Module, attr_name: str) -> None:
    prefix, name = _path_parts(attr_name)
    delattr(_get_attr(model, ".".join(prefix)) if prefix else model, name)


class GraphModule(Module):
    """A module whose ``forward`` is made from a graph.

    After the graph was changed, :meth:`recompile` makes the code again; so does assigning to
    ``graph``.

    Args:
        root: the module whose parameters, buffers and modules the graph uses; or a dict with what
            it uses, by path.
        graph: the graph.
        class_name: the name of the module in print.

    Example:
        >>> traced = facula.fx.symbolic_trace(lambda x: facula.relu(x))
        >>> for node in traced.graph.nodes:
        ...     if node.target is facula.relu:
        ...         node.target = facula.neg
        >>> _ = traced.recompile()
        >>> traced(facula.tensor([1.0]))
        tensor([-1.])
    """

    def __new__(cls, *_args: Any, **_kwargs: Any) -> GraphModule:
        # Each has a class of its own, since Python finds the method that it calls at the class.
        for base in cls.__mro__:
            name = base.__qualname__.rsplit(".", 1)[-1]
            if name != "GraphModuleImpl":
                cls = base
                break

        class GraphModuleImpl(cls):  # type: ignore[misc,valid-type]
            pass

        return super().__new__(GraphModuleImpl)

    _in_spec: Any
    _out_spec: Any

    def __init__(
        self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            used = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
            for target in used:
                _copy_attr(root, self, str(target))
        elif isinstance(root, dict):
            self._assign_all(root, graph)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.meta: dict[str, Any] = {}
        if isinstance(root, Module):
            self.meta.update(getattr(root, "meta", {}) if isinstance(root, GraphModule) else {})
        self._replace_hooks: list[Any] = []
        self._create_node_hooks: list[Any] = []
        self._erase_node_hooks: list[Any] = []
        self._deepcopy_hooks: list[Any] = []
        self._tracer_cls = None
        if graph._tracer_cls is not None and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = dict(graph._tracer_extras or {})
        self.graph = graph

    def _assign_all(self, root: dict[str, Any], graph: Graph) -> None:
        used = []
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                if node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not "
                        "provided in ``root``!"
                    )
                used.append(str(node.target))
        # Modules before what is inside of them.
        for target in sorted(used, key=lambda path: path.count(".")):
            _assign_attr(root[target], self, target)

    @property
    def graph(self) -> Graph:
        """The graph. Assigning another one makes the code again."""
        return self._graph  # type: ignore[no-any-return]

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of ``forward``."""
        if "_code" not in self.__dict__:
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return str(self._code)

    def recompile(self) -> PythonCode:
        """Make ``forward`` again from the graph, after the graph was changed; gives the code."""
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            self.__dict__["_in_spec"] = self._graph._codegen.pytree_info.in_spec
            self.__dict__["_out_spec"] = self._graph._codegen.pytree_info.out_spec
        python_code: PythonCode = self._graph.python_code(root_module="self")
        self.__dict__["_code"] = python_code.src
        forward = _forward_from_src(python_code.src, python_code.globals)
        type(self).forward = forward
        return python_code

    def add_submodule(self, target: str, m: Module) -> bool:
        """Give the module another one at a path; gives whether that was possible.

        Args:
            target: the path; modules on the way are made.
            m: the module.

        Example:
            >>> traced = facula.fx.symbolic_trace(lambda x: x)
            >>> traced.add_submodule("head.linear", facula.nn.Linear(2, 1))
            True
            >>> traced.head.linear
            Linear(in_features=2, out_features=1, bias=True)
        """
        prefix, name = _path_parts(target)
        module: Any = self
        for part in prefix:
            found = getattr(module, part, None)
            if found is None:
                found = Module()
                setattr(module, part, found)
            if not isinstance(found, Module):
                return False
            module = found
        module.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete the module at a path; gives whether there was one.

        Args:
            target: the path.
        """
        prefix, name = _path_parts(target)
        module: Any = self
        for part in [*prefix, name]:
            parent = module
            module = getattr(module, part, None)
            if not isinstance(module, Module):
                return False
        delattr(parent, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Delete the modules that no node of the graph calls or reads from."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
                if node.op == "call_module":
                    module = self.get_submodule(str(node.target))
                    used.update(f"{node.target}.{name}" for name, _ in module.named_modules())
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module as a package of Python, with its parameters in files beside the code.

        Args:
            folder: where to; it is made if it is not there.
            module_name: the name of its class.
        """
        from facula.fx import _folder

        _folder.write(self, Path(folder), module_name)

    def __reduce__(self) -> tuple[Any, ...]:
        # By its code, which is traced again when it is loaded: nodes refer to functions, code
        # names them.
        state = dict(self.__dict__)
        python_code = self.recompile()
        state["_code"] = python_code.src
        import_block = _format_import_block(python_code.globals)
        del state["_graph"]
        for name in ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks"):
            state[name] = []
        state["_graphmodule_cls_name"] = type(self).__name__
        return reduce_graph_module, (state, import_block)

    def _deepcopy_init(self) -> Callable[..., None]:
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        root = _CodeOnlyModule(copy.deepcopy({**self.__dict__, "_graph": None}, memo))
        graph = copy.deepcopy(self._graph, memo)
        self._deepcopy_init()(new, root, graph, type(self).__name__)
        new.__dict__["_modules"] = {**root.__dict__["_modules"], **new.__dict__["_modules"]}
        # Hooks, marks and other attributes that were set on the module.
        for name, value in root.__dict__.items():
            if name not in ("_graph", "_code"):
                new.__dict__[name] = value
        for hook in self._deepcopy_hooks:
            hook(new)
        return new

    def __copy__(self) -> GraphModule:
        from facula.fx._symbolic_trace import _make_graph_module

        new = _make_graph_module(self, copy.deepcopy(self.graph), type(self).__name__)
        new.meta = copy.copy(self.meta)
        return new

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
    ) -> str:
        """The code as a class, with shapes and the lines of the traced program; prints it too.

        Args:
            print_output: whether it is printed.
            include_stride: accepted for programs that give it.
            include_device: accepted for programs that give it.
            colored: accepted for programs that give it.
            fast_sympy_print: accepted for programs that give it.
            expanded_def: accepted for programs that give it.

        Example:
            >>> traced = facula.fx.symbolic_trace(lambda x: x + 1)
            >>> _ = traced.print_readable()
            class <lambda>(torch.nn.Module):
                def forward(self, x):
                    # No stacktrace found for following nodes
                    add = x + 1;  x = None
                    return add
            <BLANKLINE>
        """
        text = _readable(self, type(self).__name__)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        reminder = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__repr__(), self._code, reminder])

    def _replicate_for_data_parallel(self) -> GraphModule:
        new = self.__copy__()
        new.__dict__["_is_replica"] = True
        return new

    @contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        self._replace_hooks.append(f)
        try:
            yield
        finally:
            self._replace_hooks.remove(f)

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.remove(f)


def _readable(module: GraphModule, name: str) -> str:
    source = module.graph.python_code("self", verbose=True).src.strip("\n ")
    code = "\n".join(line.rstrip() for line in source.splitlines())
    parts = [textwrap.indent(code, "    ").rstrip()]
    for child_name, child in module.named_children():
        if isinstance(child, GraphModule):
            parts.append(textwrap.indent(_readable(child, child_name).rstrip(), "    "))
    return f"class {name}(torch.nn.Module):\n" + "\n\n".join(parts) + "\n"


class _CodeOnlyModule(Module):
    """A module of given attributes, among them the code of a graph."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__.update(body)


def reduce_graph_module(body: dict[Any, Any], import_block: str) -> Module:
    """Make a graph module again from a pickle: its code is run, and traced.

    Args:
        body: the attributes of the module, its code among them.
        import_block: the lines that import what the code refers to.
    """
    src = body.get("_code") or body["code"]
    # Files of PyTorch name their functions torch.*, which are ours here.
    block = import_block.replace("import torch\n", "").replace("import torch.", "import facula.")
    lines = [line for line in block.splitlines() if line.strip() != "import torch"]
    block = "\n".join(lines).replace("from torch", "from facula")
    namespace = {"torch": facula, "facula": facula}
    _exec_with_source(block, namespace)
    forward = _forward_from_src(src, namespace)
    return _deserialize_graph_module(forward, body)


def _deserialize_graph_module(
    forward: Callable[..., Any], body: dict[Any, Any], graph_module_cls: type[Any] | None = None
) -> Module:
    from facula.fx._symbolic_trace import Tracer

    tracer_cls: Any = body.get("_tracer_cls") or Tracer
    name = body.get("_graphmodule_cls_name", "GraphModule")
    extras = body.get("_tracer_extras", {})

    class Root(_CodeOnlyModule):
        pass

    Root.forward = forward
    root = Root(body)

    class KeepModules(tracer_cls):  # type: ignore[misc]
        # The code calls modules that were leaves when it was made.
        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    tracer = KeepModules(**extras) if extras else KeepModules()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = tracer.trace(root)
    graph._tracer_cls = body.get("_tracer_cls")
    cls = GraphModule if graph_module_cls is None else graph_module_cls
    module: Module = cls(root, graph, class_name=name)
    for key, value in body.items():
        if not hasattr(module, key):
            setattr(module, key, value)
    return module
