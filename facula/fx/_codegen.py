"""The Python code of a graph: one line per node, which anybody can read and Python can run."""

from __future__ import annotations

import enum
import re
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import facula
from facula.fx import _names
from facula.fx.node import Node, tensor_summary
from facula.utils import _pytree as pytree

# Functions of the module `operator` that the code writes as Python does.
reflectable_magic_methods = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "floordiv": "{} // {}",
    "truediv": "{} / {}",
    "div": "{} / {}",
    "mod": "{} % {}",
    "pow": "{} ** {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}",
    "and_": "{} & {}",
    "or_": "{} | {}",
    "xor": "{} ^ {}",
    "getitem": "{}[{}]",
    "matmul": "{} @ {}",
}
magic_methods = {
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "gt": "{} > {}",
    "le": "{} <= {}",
    "ge": "{} >= {}",
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
    **reflectable_magic_methods,
}
inplace_methods = {
    "iadd": "{} += {}",
    "iand": "{} &= {}",
    "ifloordiv": "{} //= {}",
    "ilshift": "{} <<= {}",
    "imod": "{} %= {}",
    "imul": "{} *= {}",
    "imatmul": "{} @= {}",
    "ior": "{} |= {}",
    "ipow": "{} **= {}",
    "irshift": "{} >>= {}",
    "isub": "{} -= {}",
    "itruediv": "{} /= {}",
    "ixor": "{} ^= {}",
    "setitem": "{}[{}] = {}",
}


@dataclass
class PythonCode:
    """The code of a graph, and what it needs to run.

    Args:
        src: the source of the function ``forward``.
        globals: the objects that it refers to, by the names it has for them.
    """

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] = field(default_factory=dict)
    _prologue_start: int = 0


class CodeGen:
    """Makes the Python code of a graph. Subclasses change the signature, or what is returned.

    Example:
        >>> class Pair(facula.fx.CodeGen):
        ...     def generate_output(self, output_args):
        ...         return f"return ({output_args!r}, 'done')"
        >>> traced = facula.fx.symbolic_trace(lambda x: x + 1)
        >>> traced.graph.set_codegen(Pair())
        >>> _ = traced.recompile()
        >>> traced(1)
        (2, 'done')
    """

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The first line, or lines, of the function.

        Args:
            free_vars: the parameters, with their types and defaults.
            maybe_return_annotation: `` -> type``, or nothing.
        """
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """The line that returns the result.

        Args:
            output_args: what the graph returns.
        """
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """The inputs of the graph that stand for the arguments of the function.

        Args:
            args: the arguments of a call.
        """
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The result of the function that stands for the output of the graph.

        Args:
            outputs: what the graph gave.
        """
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names, with their objects, that the code uses beside those of the graph."""
        return []

    def _gen_python_code(
        self,
        nodes: Iterable[Node],
        root_module: str,
        namespace: _names.Namespace,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
    ) -> PythonCode:
        writer = _Writer(self, list(nodes), root_module, namespace, verbose)
        return writer.write()


class _Writer:
    """The state of one run of a :class:`CodeGen`."""

    def __init__(
        self,
        codegen: CodeGen,
        nodes: Sequence[Node],
        root_module: str,
        namespace: _names.Namespace,
        verbose: bool,
    ) -> None:
        self.codegen = codegen
        self.nodes = nodes
        self.root_module = root_module
        self.namespace = namespace
        self.verbose = verbose
        self.globals: dict[str, Any] = {}
        self.wrapped: dict[str, None] = {}
        self.parameters: list[str] = []
        self.body: list[str] = []
        self.return_annotation = ""
        self.last_trace: str | None = None
        self.last_uses = self._find_last_uses()

    def _find_last_uses(self) -> dict[Node, list[Node]]:
        """For each node those that nobody uses after it: their variables are freed there."""
        last_uses: dict[Node, list[Node]] = {}
        seen: set[Node] = set()
        for user in reversed(self.nodes):
            for node in user._input_nodes:
                if node not in seen:
                    seen.add(node)
                    last_uses.setdefault(user, []).append(node)
        return last_uses

    def add_global(self, name_hint: str, obj: Any) -> str:
        """The expression for an object that is not in the graph; makes it a global if need be."""
        if obj is facula.device:
            name_hint = "device"
        elif _names.is_of_package(obj):
            path = _names.qualified_name(obj) if callable(obj) else name_hint
            root = path.partition(".")[0]
            self.globals.setdefault(root, facula.vision if root == "torchvision" else facula)
            return path
        return self._new_global(name_hint, obj)

    def _new_global(self, name_hint: str, obj: Any) -> str:
        name = name_hint.replace(".", "_")
        global_name = self.namespace.create_name(name, obj if _is_hashable(obj) else None)
        self.globals.setdefault(global_name, obj)
        return global_name

    def type_repr(self, annotation: Any) -> str:
        if annotation in (None, type(None)):
            return "None"
        if isinstance(annotation, str):
            return annotation
        origin = typing.get_origin(annotation)
        if origin is None:
            return self.add_global(_names.type_name(annotation), annotation)
        parameters = typing.get_args(annotation)
        if origin in (typing.Union, types.UnionType):
            return " | ".join(self.type_repr(each) for each in parameters)
        base = self.add_global(_names.type_name(origin), origin)
        if not parameters:
            return base
        return f"{base}[{', '.join(self._type_parameter(each) for each in parameters)}]"

    def _type_parameter(self, parameter: Any) -> str:
        if isinstance(parameter, list):  # of a Callable
            return f"[{', '.join(map(self.type_repr, parameter))}]"
        return "..." if parameter is ... else self.type_repr(parameter)

    def argument(self, arg: Any) -> str:
        """The expression for an argument."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and type(arg) is not tuple:
            return self._tuple_of_a_class(arg)
        if isinstance(arg, tuple):
            items = ", ".join(map(self.argument, arg))
            return f"({items},)" if len(arg) == 1 else f"({items})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.argument, arg))}]"
        if isinstance(arg, dict):
            pairs = (f"{self.argument(k)}: {self.argument(v)}" for k, v in arg.items())
            return "{" + ", ".join(pairs) + "}"
        if isinstance(arg, slice):
            parts = ", ".join(map(self.argument, (arg.start, arg.stop, arg.step)))
            return f"slice({parts})"
        if isinstance(arg, (facula.dtype, facula.layout, facula.memory_format)):
            path = _names.by_package_name(f"facula.{str(arg).removeprefix('torch.')}")
            self.globals.setdefault(path.partition(".")[0], facula)
            return path
        if isinstance(arg, enum.Enum):
            cls = type(arg)
            return f"{self.add_global(_names.type_name(cls), cls)}.{arg.name}"
        if isinstance(arg, facula.device):
            self.globals.setdefault("device", facula.device)
        if isinstance(arg, (int, float, complex, str, bytes, type(None), type(...))):
            return self._literal(arg)
        if isinstance(arg, type):
            return self.type_repr(arg)
        if callable(arg) and hasattr(arg, "__name__"):
            return self.add_global(_names.qualified_name(arg), arg)
        return repr(arg)

    def _literal(self, arg: Any) -> str:
        # As Python's own number: NumPy's, which are of a subclass, print with the name of NumPy.
        own = (bool, int, float, complex, str, bytes)
        text = next((kind.__repr__(arg) for kind in own if isinstance(arg, kind)), repr(arg))
        for name in ("inf", "nan"):
            if isinstance(arg, (float, complex)) and name in text:
                self.globals.setdefault(name, _names.CUSTOM_BUILTINS[name][1])
        return text

    def _tuple_of_a_class(self, arg: Any) -> str:
        cls = self.add_global(_names.type_name(type(arg)), type(arg))
        items = ", ".join(map(self.argument, arg))
        return f"{cls}({items})" if hasattr(arg, "_fields") else f"{cls}([{items}])"

    def arguments(self, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        given = [self.argument(arg) for arg in args]
        given += [f"{name} = {self.argument(arg)}" for name, arg in kwargs.items()]
        return ", ".join(given)

    def annotation(self, node: Node) -> str:
        if self.verbose and (summary := tensor_summary(node)):
            return f': "{summary}"'
        return "" if node.type is None else f" : {self.type_repr(node.type)}"

    def _comment(self, node: Node) -> None:
        """The line of the traced program before the lines that it became, in verbose code."""
        if not self.verbose or node.op in ("placeholder", "output"):
            return
        trace = summarized_trace(node.stack_trace)
        if trace != self.last_trace:
            self.last_trace = trace
            self.body.append(("\n" if self.body else "") + trace + "\n")

    def emit(self, node: Node) -> None:
        target: Any = node.target
        if node.op == "placeholder":
            default = f" = {self.argument(node.args[0])}" if node.args else ""
            self.parameters.append(f"{target}{self.annotation(node)}{default}")
            raw_name = target.replace("*", "")
            if raw_name != repr(node):
                self.body.append(f"{node!r} = {raw_name}\n")
            return
        if node.op == "output":
            if node.type is not None:
                self.return_annotation = f" -> {self.type_repr(node.type)}"
            # Its own repr: a codegen gives the arguments in whatever form it has them.
            shown = _WithRepr.of(node.args[0], self.argument)
            self.body.append(self.codegen.generate_output(shown))
            return
        left = f"{node!r}{self.annotation(node)} = "
        if node.op == "get_attr":
            self.body.append(left + _names.format_target(self.root_module, target))
        elif node.op == "call_module":
            called = _names.format_target(self.root_module, target)
            self.body.append(f"{left}{called}({self.arguments(node.args, node.kwargs)})")
        elif node.op == "call_method":
            called = _names.format_target(self.argument(node.args[0]), target)
            self.body.append(f"{left}{called}({self.arguments(node.args[1:], node.kwargs)})")
        else:
            self.body.append(self._call_function(node, left))

    def _call_function(self, node: Node, left: str) -> str:
        target: Any = node.target
        name = getattr(target, "__name__", "")
        is_operator = getattr(target, "__module__", None) == "_operator" and not node.kwargs
        args = [self.argument(arg) for arg in node.args]
        if is_operator and name in magic_methods:
            return left + magic_methods[name].format(*args)
        if is_operator and name in inplace_methods:
            return f"{inplace_methods[name].format(*args)};  {left}{args[0]}"
        if target is getattr and len(args) == 2 and str(node.args[1]).isidentifier():
            return f"{left}{args[0]}.{node.args[1]}"
        if node.meta.get("is_wrapped", False):
            # A global of the code, whoever it belongs to: fx.wrap replaces globals.
            called = self._new_global(_names.qualified_name(target), target)
            self.globals.setdefault("facula", facula)
            self.wrapped.setdefault(called)
        else:
            called = self.add_global(self._hint(target), target)
        return f"{left}{called}({self.arguments(node.args, node.kwargs)})"

    @staticmethod
    def _hint(target: Any) -> str:
        # PyTorch's name of such a global: that of the module in which Python has the function.
        if getattr(target, "__module__", None) == "_operator":
            return f"_operator.{target.__name__}"
        return _names.qualified_name(target)

    def free(self, node: Node) -> None:
        """End the line of a node: variables that are not needed any more are set to None."""
        if node.op == "placeholder":
            return
        if node.op == "output":
            self.body.append("\n")
            return
        unused = list(self.last_uses.get(node, ()))
        if not node.users:
            unused.append(node)
        names = "".join(f"{each!r} = " for each in unused)
        self.body.append(f";  {names}None\n" if unused else "\n")

    def write(self) -> PythonCode:
        for node in self.nodes:
            self._comment(node)
            self.emit(node)
            self.free(node)
        for name, value in self.codegen.additional_globals():
            self.globals.setdefault(name, value)
        body = self.body or ["pass\n"]
        if self.codegen._body_transformer is not None:
            body = self.codegen._body_transformer(body)
        head = self.codegen.gen_fn_def(self.parameters, self.return_annotation)
        wraps = "\n".join(f'facula.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        code = "\n".join("    " + line for line in "".join(body).split("\n"))
        return PythonCode(f"\n{wraps}\n\n{head}\n{code}", self.globals)


class _WithRepr:
    """An output with the expression of its code as ``repr``, of which a codegen makes its line."""

    @staticmethod
    def of(value: Any, expression: Callable[[Any], str]) -> Any:
        if isinstance(value, (Node, str, int, float, type(None))):
            return value
        return _WithRepr(value, expression)

    def __init__(self, value: Any, expression: Callable[[Any], str]) -> None:
        self._value = value
        self._expression = expression

    def __repr__(self) -> str:
        return self._expression(self._value)

    def __getitem__(self, index: Any) -> Any:
        return _WithRepr.of(self._value[index], self._expression)

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Any:
        return (_WithRepr.of(item, self._expression) for item in self._value)


def _is_hashable(obj: Any) -> bool:
    try:
        hash(obj)
    except TypeError:
        return False
    return True


def summarized_trace(stack_trace: str | None) -> str:
    """The comment that says from which line of the traced program a node comes."""
    found = re.findall(r'File "(.+?)", line (\d+), in (.+)\n(?:    (.+))?', stack_trace or "")
    if not found:
        return "# No stacktrace found for following nodes"
    path, line, function, code = found[-1]
    return f"# File: {path}:{line} in {function}, code: {code}"


class _PyTreeInfo(NamedTuple):
    """The parameters of a function whose arguments, or result, are trees."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


class _PyTreeCodeGen(CodeGen):
    """Code that takes trees apart into the inputs of the graph, and puts its outputs together."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, outputs: Any) -> Any:
        if not isinstance(outputs, (list, tuple)):
            outputs = (outputs,)
        if self.pytree_info.out_spec is None:
            raise AssertionError("The graph was not traced to its end: it has no out_spec.")
        return pytree.tree_unflatten(outputs, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        info = self.pytree_info
        names = list(info.orig_args)
        has_self = bool(names) and names[0] == "self"
        parameters = names[:1] if has_self else []
        parameters += self._with_defaults(names[1:] if has_self else names, free_vars)
        definition = super().gen_fn_def(parameters, maybe_return_annotation)
        if not free_vars:
            return definition
        leaves = [re.split(r"[ :=]", var, maxsplit=1)[0] for var in free_vars]
        given = names[1:] if has_self else names
        trees = f"[{', '.join(given)}]"
        if info.in_spec.num_children != len(given):  # of positional arguments, and those by name
            n_positional = info.in_spec.child(0).num_children
            positional = "".join(f"{name}, " for name in given[:n_positional])
            by_name = ", ".join(f"'{name}': {name}" for name in given[n_positional:])
            trees = f"(({positional}), {{{by_name}}})"
        flatten = f"fx_pytree.tree_flatten_spec({trees}, self._in_spec)"
        return f"{definition}\n    {', '.join(leaves)}, = {flatten}"

    def _with_defaults(self, names: list[str], free_vars: list[str]) -> list[str]:
        """The parameters, with the defaults of those at the end that are no trees and have one."""
        specs = self.pytree_info.in_spec.children_specs
        if len(specs) != len(names):
            return names
        result = list(names)
        last = len(free_vars)
        for i in reversed(range(len(names))):
            last -= specs[i].num_leaves
            if not specs[i].is_leaf() or " = " not in free_vars[last]:
                break
            default = free_vars[last].partition(" = ")[2]
            result[i] = f"{names[i]} = {default}"
        return result

    def generate_output(self, output_args: Any) -> str:
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args)
        return f"return pytree.tree_unflatten({output_args!r}, self._out_spec)"

    def additional_globals(self) -> list[tuple[str, Any]]:
        from facula.fx import _pytree as fx_pytree

        return [("fx_pytree", fx_pytree), ("pytree", pytree)]
