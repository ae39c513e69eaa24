"""Nodes of a graph: each is one step of a program.

====================  ================================================================
``op``                ``target``, and what ``args`` and ``kwargs`` are
====================  ================================================================
``placeholder``       the name of an input; ``args`` has its default, if there is one
``get_attr``          the path of a parameter, buffer or module below the root
``call_function``     a function, with its arguments
``call_method``       the name of a method; the object is ``args[0]``
``call_module``       the path of a module below the root, with its arguments
``output``            ``args[0]`` is what the graph returns
====================  ================================================================

Arguments are numbers, strings, dtypes and the like, other nodes, and tuples, lists, dicts and
slices of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import facula
from facula.fx import _names
from facula.fx.immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from facula.fx.graph import Graph
    from facula.fx.operator_schemas import ArgsKwargsPair

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any
BaseArgumentTypes = (
    str | int | float | bool | complex | facula.dtype | facula.device | facula.Tensor
)
base_types = (
    str,
    int,
    float,
    bool,
    complex,
    facula.dtype,
    facula.Tensor,
    facula.device,
    facula.memory_format,
    facula.layout,
)

_legal_ops = dict.fromkeys(
    ["call_function", "call_method", "call_module", "get_attr", "output", "placeholder", "root"]
)

_Function = TypeVar("_Function", bound=Callable[..., Any])

_get_qualified_name = _names.qualified_name
_type_repr = _names.type_name

# Called for what they do rather than for their result: never dead code.
_side_effectful_functions: set[Callable[..., Any]] = {print, setattr, delattr}


def has_side_effect(fn: _Function) -> _Function:
    """Say that a function does more than return a result, so that its calls are never dead code.

    Args:
        fn: the function; it is returned, so this can decorate it.

    Example:
        >>> @facula.fx.has_side_effect
        ... def log(x):
        ...     print(x)
    """
    _side_effectful_functions.add(fn)
    return fn


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """Apply a function to the nodes among arguments, however deep they are in lists and dicts.

    Args:
        a: the arguments.
        fn: gives what takes the place of a node.

    Example:
        >>> graph = facula.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> facula.fx.map_arg((x, [x, 1]), lambda node: node.name)
        ('x', ['x', 1])
    """
    if not callable(fn):
        raise TypeError(f"map_arg: expected a function as fn, got {type(fn).__name__}.")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """Apply a function to everything in nested tuples, lists, dicts and slices.

    Lists and dicts of the result cannot be changed.

    Args:
        a: the arguments.
        fn: gives what takes the place of an argument.

    Example:
        >>> from facula.fx.node import map_aggregate
        >>> map_aggregate({"a": [1, slice(2, None)]}, lambda x: x if x is None else x + 1)
        {'a': [2, slice(3, None, None)]}
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        if type(a) is tuple:
            return tuple(items)
        return type(a)(*items) if hasattr(a, "_fields") else type(a)(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(value, fn)) for key, value in a.items())
    if isinstance(a, slice):
        return slice(*(map_aggregate(part, fn) for part in (a.start, a.stop, a.step)))
    return fn(a)


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    """An argument in a printed graph, where nodes have a percent sign."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, (list, tuple)):
        shown = [
            _format_arg(item, max_list_len) for item in arg[: int(min(max_list_len, len(arg)))]
        ]
        text = ", ".join(shown)
        if len(shown) < len(arg):
            text += f", ...[total_len={len(arg)}]"
        if isinstance(arg, list):
            return f"[{text}]"
        return f"({text},)" if len(arg) == 1 else f"({text})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{k}: {_format_arg(v, max_list_len)}" for k, v in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """One step of a graph: an input, a call, the reading of an attribute, or the output.

    Graphs make nodes; see :meth:`facula.fx.Graph.create_node`.

    Args:
        graph: the graph that the node belongs to.
        name: its name, which is that of a variable in the generated code.
        op: the kind of step.
        target: what is called or read.
        args: the positional arguments.
        kwargs: the arguments by name.
        return_type: the type of the result, for the generated code; None if it is not known.

    Example:
        >>> def f(x):
        ...     return facula.relu(x) + 1
        >>> for node in facula.fx.symbolic_trace(f).graph.nodes:
        ...     print(node.op, node.name, node.args)
        placeholder x ()
        call_function relu (x,)
        call_function add (relu, 1)
        output output (add,)
    """

    _args: tuple[Argument, ...]
    _kwargs: dict[str, Argument]

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any = None,
    ) -> None:
        if op not in _legal_ops:
            raise AssertionError(
                f"Node {name}: op {op!r} is not in _legal_ops: {', '.join(_legal_ops)}."
            )
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = {name!r}] target {target} has type "
                    f"{type(target).__name__} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = {name!r}] target {target} has type "
                f"{type(target).__name__} but a str is expected"
            )
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        # In the order in which they were first used, as keys.
        self.users: dict[Node, None] = {}
        self._input_nodes: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._prev: Node = self
        self._next: Node = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self._args = ()
        self._kwargs = {}
        self._set_arguments(args, kwargs)

    def _set_arguments(self, args: tuple[Argument, ...], kwargs: Mapping[str, Argument]) -> None:
        """Take the arguments, and say so to the nodes among them."""
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def note(arg: Argument) -> Argument:
            if isinstance(arg, Node):
                self._input_nodes[arg] = None
                arg.users.setdefault(self)
            return arg

        self._args = map_aggregate(args, note)
        self._kwargs = map_aggregate(dict(kwargs), note)

    @property
    def next(self) -> Node:
        """The node after this one; after the last comes the graph's own, of op ``root``."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments. Assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        if not isinstance(a, tuple):
            raise TypeError(f"Node {self.name}: expected a tuple as args, got {type(a).__name__}.")
        self._set_arguments(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name. Assign a new dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        if not isinstance(k, dict):
            raise TypeError(f"Node {self.name}: expected a dict as kwargs, got {type(k).__name__}.")
        self._set_arguments(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes whose results this one uses, each once."""
        return list(self._input_nodes)

    @property
    def stack_trace(self) -> str | None:
        """The lines of the traced program that led to the node, if the tracer recorded them."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def prepend(self, x: Node) -> None:
        """Move a node of the same graph to the place before this one.

        Args:
            x: the node that is moved.
        """
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        self.graph._order_changed()

    def append(self, x: Node) -> None:
        """Move a node of the same graph to the place after this one.

        Args:
            x: the node that is moved.
        """
        self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace one positional argument.

        Args:
            idx: its place.
            arg: the new argument.
        """
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put a positional argument before another.

        Args:
            idx: the place that it gets, from 0 to the number of arguments.
            arg: the new argument.
        """
        if not 0 <= idx <= len(self.args):
            raise AssertionError(
                f"insert_args index must be between 0 and len(self.args) = {len(self.args)}, got "
                f"{idx}"
            )
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set one argument by name.

        Args:
            key: its name.
            arg: the new argument.
        """
        self.kwargs = {**self.kwargs, key: arg}

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let the nodes that use this one use another; gives the nodes that were changed.

        Args:
            replace_with: the node that takes the place of this one.
            delete_user_cb: says of a user whether it shall be changed; all are by default.
            propagate_meta: whether ``replace_with``, whose ``meta`` must be empty, gets this
                node's.

        Example:
            >>> traced = facula.fx.symbolic_trace(lambda x: facula.relu(x).neg())
            >>> x, relu, neg, _ = traced.graph.nodes
            >>> relu.replace_all_uses_with(x)
            [neg]
            >>> neg.args
            (x,)
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but "
                    "replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = []
        for user in list(self.users):
            if delete_user_cb is None or delete_user_cb(user):
                user.replace_input_with(self, replace_with)
                changed.append(user)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Let this node use ``new_input`` wherever it used ``old_input``.

        Args:
            old_input: the node that is used no longer.
            new_input: the node that takes its place.
        """

        def replaced(node: Node) -> Node:
            return new_input if node is old_input else node

        self.graph._tell_of_replacement(old_input, new_input.name, self)
        self._set_arguments(map_arg(self.args, replaced), map_arg(self.kwargs, replaced))

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node must stay even if nobody uses its result.

        That is so for inputs and the output, for what changes a tensor or another object in place,
        and for random numbers, which move the generator on.

        Args:
            impure_random: whether random numbers count.
        """
        from facula.fx import _purity

        return _purity.is_impure(self, impure_random)

    def normalized_arguments(
        self,
        root: facula.nn.Module,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> ArgsKwargsPair | None:
        """The arguments of a call in the order and with the names of the function's signature.

        None if the signature is not known, or does not fit.

        Args:
            root: the module that the graph belongs to.
            arg_types: types of the positional arguments, for functions with several signatures.
            kwarg_types: types of the arguments by name.
            normalize_to_only_use_kwargs: whether all arguments are given by name, defaults too.
        """
        from facula.fx.operator_schemas import normalize_function, normalize_module

        if self.op == "call_function" and callable(self.target):
            return normalize_function(
                self.target,
                self.args,
                self.kwargs,
                arg_types,
                kwarg_types,
                normalize_to_only_use_kwargs,
            )
        if self.op == "call_module" and isinstance(self.target, str):
            return normalize_module(
                root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs
            )
        return None

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The line of the node in a printed graph.

        Args:
            placeholder_names: a list to which an input adds its name, instead of having a line.
            maybe_return_typename: a list whose first item the output replaces by its type.
            include_tensor_metadata: whether shapes and dtypes are shown where they are known.

        Example:
            >>> traced = facula.fx.symbolic_trace(lambda x: x * 2)
            >>> print(list(traced.graph.nodes)[1].format_node())
            %mul : [num_users=1] = call_function[target=operator.mul](args = (%x, 2), kwargs = {})
        """
        typename = f"{_type_repr(self.type)} " if self.type else ""
        shown = f"%{self.name} : {typename}"
        if include_tensor_metadata and (summary := tensor_summary(self)):
            shown += f"{summary} "
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            if placeholder_names is not None:
                annotation = f" : {_type_repr(self.type)}" if self.type else ""
                placeholder_names.append(f"{self.target}{annotation}{default}")
                return None
            head = f"{shown}[num_users={len(self.users)}] = {self.op}"
            return f"{head}[target={self.target}]{default}"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        head = f"{shown}[num_users={len(self.users)}] = {self.op}"
        target = self._pretty_print_target(self.target)
        if self.op == "get_attr":
            return f"{head}[target={target}]"
        return (
            f"{head}[target={target}](args = {_format_arg(self.args)}, "
            f"kwargs = {_format_arg(self.kwargs)})"
        )

    def _pretty_print_target(self, target: Any) -> str:
        return _names.target_name(target)

    def _rename(self, candidate: str) -> None:
        if candidate == self.name:
            return
        self.name = self.graph._graph_namespace.create_name(candidate, None)
        self.graph._graph_namespace._rename_object(self, self.name)

    def __setattr__(self, name: str, value: Any) -> None:
        # find_nodes has a table of the nodes by op and target.
        graph = self.__dict__.get("graph")
        if name in ("op", "target") and graph is not None:
            graph._order_changed()
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def __lt__(self, other: Node) -> bool:
        return self.graph._place(self) < self.graph._place(other)

    def __gt__(self, other: Node) -> bool:
        return self.graph._place(self) > self.graph._place(other)

    def __le__(self, other: Node) -> bool:
        return not self > other

    def __ge__(self, other: Node) -> bool:
        return not self < other

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        # Alone a node is nothing: its copy belongs to a copy of the graph.
        import copy

        copy.deepcopy(self.graph, memo)
        found: Node = memo[id(self)]
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return _node_of, (self.graph, self.graph._place(self))


def _node_of(graph: Graph, place: int) -> Node:
    return list(graph.nodes)[place]


_ABBREVIATIONS = {
    "bfloat16": "bf16",
    "bool": "b8",
    "complex128": "c128",
    "complex32": "c32",
    "complex64": "c64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "int8": "i8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "uint8": "u8",
}


def tensor_summary(node: Node) -> str:
    """``f32[2, 3]`` for a node whose result is known to be such a tensor; else nothing."""
    meta = node.meta.get("tensor_meta", node.meta.get("val"))
    if meta is None or not hasattr(meta, "shape") or not hasattr(meta, "dtype"):
        return ""
    name = str(meta.dtype).removeprefix("torch.")
    return f"{_ABBREVIATIONS.get(name, name)}[{', '.join(map(str, meta.shape))}]"
