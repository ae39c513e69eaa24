"""Graphs: a program as a list of :class:`~facula.fx.Node`, in the order in which they run."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from facula._warnings import warn_user
from facula.fx import _names
from facula.fx._codegen import CodeGen, PythonCode

# Packages import these from here, as PyTorch has them.
from facula.fx._codegen import _PyTreeCodeGen as _PyTreeCodeGen
from facula.fx._codegen import _PyTreeInfo as _PyTreeInfo
from facula.fx._codegen import inplace_methods as inplace_methods
from facula.fx._codegen import magic_methods as magic_methods
from facula.fx._codegen import reflectable_magic_methods as reflectable_magic_methods
from facula.fx.node import Argument, Node, Target, _legal_ops, map_arg

if TYPE_CHECKING:
    from facula.nn import Module

__all__ = ["CodeGen", "Graph", "PythonCode"]

# PyTorch's names for what is in other files here; packages import them from this module.
_Namespace = _names.Namespace
_snake_case = _names.snake_case
_format_target = _names.format_target
_is_from_torch = _names.is_of_package
_get_qualified_name = _names.qualified_name
_type_repr = _names.type_name
_custom_builtins = _names.CUSTOM_BUILTINS


class _node_list:
    """The nodes of a graph, which may be changed while one goes over them."""

    def __init__(self, graph: Graph, direction: Literal["_prev", "_next"] = "_next") -> None:
        self.graph = graph
        self.direction = direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node: Node = getattr(root, self.direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> Iterator[Node]:
        other: Literal["_prev", "_next"] = "_prev" if self.direction == "_next" else "_next"
        return iter(_node_list(self.graph, other))


class _InsertPoint:
    """Where new nodes go; as a context manager it sets the place back at its end."""

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.before, graph._insert = graph._insert, new_insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self.graph._insert = self.before


class Graph:
    """A program as a list of nodes: inputs, calls, and one output.

    :func:`facula.fx.symbolic_trace` makes graphs of functions and modules; nodes can also be added
    by hand. With a module a graph is a :class:`~facula.fx.GraphModule`, which can be called.

    Args:
        owning_module: the module that the graph belongs to, if there is one.
        tracer_cls: the class of the tracer that made the graph.
        tracer_extras: what the tracer has to keep with the graph.

    Example:
        >>> graph = facula.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y = graph.call_function(facula.relu, (x,))
        >>> _ = graph.output(y)
        >>> print(graph)
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %relu : [num_users=1] = call_function[target=facula.relu](args = (%x,), kwargs = {})
            return relu
        >>> facula.fx.GraphModule({}, graph)(facula.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def __init__(
        self,
        owning_module: Any = None,
        tracer_cls: type[Any] | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        # Before the first node and after the last: the list is a ring.
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _names.Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        # Made when asked for, and forgotten when nodes move, come or go.
        self._places: dict[Node, int] | None = None
        self._by_op: dict[tuple[str, Any], list[Node]] | None = None

    @property
    def owning_module(self) -> Any:
        """The module that the graph belongs to; None if there is none, or more than one."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> _node_list:
        """The nodes in order; ``reversed(graph.nodes)`` goes from the last to the first."""
        return _node_list(self)

    def _order_changed(self) -> None:
        self.__dict__["_places"] = self.__dict__["_by_op"] = None

    def _place(self, node: Node) -> int:
        if self._places is None:
            self._places = {each: i for i, each in enumerate(self.nodes)}
        return self._places.get(node, -1)

    def _tell_of_replacement(self, old: Node, new: str, user: Node) -> None:
        for hook in getattr(self._owning_module, "_replace_hooks", ()):
            hook(old=old, new=new, user=user)

    def output_node(self) -> Node:
        """The node that returns the result."""
        found = next((node for node in reversed(self.nodes) if node.op == "output"), None)
        if found is None:
            raise AssertionError("The graph has no output: add one with graph.output(...).")
        return found

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind.

        Args:
            op: the kind.
            target: what they call; every target if it is None, which it must not be for
                ``call_function``.
            sort: kept for programs that give it: the nodes are always in order.

        Example:
            >>> traced = facula.fx.symbolic_trace(lambda x: facula.relu(facula.relu(x)))
            >>> traced.graph.find_nodes(op="call_function", target=facula.relu)
            [relu, relu_1]
        """
        if op == "call_function" and target is None:
            raise AssertionError("find_nodes: give the target of call_function nodes.")
        if self._by_op is None:
            self._by_op = {}
            for node in self.nodes:
                self._by_op.setdefault((node.op, node.target), []).append(node)
                if node.op != "call_function":
                    self._by_op.setdefault((node.op, None), []).append(node)
        return list(self._by_op.get((op, target), ()))

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Argument:
        """Add copies of all nodes of another graph; gives what that graph returns.

        Args:
            g: the graph that is copied.
            val_map: a dict that gets a pair of node and copy for each; nodes that it has already
                are not copied.
            return_output_node: whether the result is a pair of that and the output node of ``g``.

        Example:
            >>> inner = facula.fx.symbolic_trace(lambda x: x + 1).graph
            >>> graph = facula.fx.Graph()
            >>> result = graph.graph_copy(inner, {})
            >>> graph.output(result).args
            (add,)
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        memo = {} if memo is None else memo
        g = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        memo[id(self)] = g
        copies: dict[Node, Node] = {}
        for node in self.nodes:
            new = g.node_copy(node, lambda n: copies[n])
            new.meta = _copied_meta(node.meta, copies)
            copies[node] = memo[id(node)] = new
        g._codegen = copy.deepcopy(self._codegen, memo)
        return g

    def __getstate__(self) -> dict[str, Any]:
        # As a list: the ring of nodes is as deep as it is long, and pickle follows references.
        places = {node: i for i, node in enumerate(self.nodes)}

        def place(node: Node) -> _Place:
            return _Place(places[node])

        rows = [
            (
                n.op,
                n.name,
                n.target,
                map_arg(n.args, place),
                map_arg(n.kwargs, place),
                n.type,
                n.meta,
            )
            for n in self.nodes
        ]
        kept = ("_tracer_cls", "_tracer_extras", "_codegen")
        return {"rows": rows, **{name: getattr(self, name) for name in kept}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from facula.fx.node import map_aggregate

        state = dict(state)
        rows = state.pop("rows")
        Graph.__init__(self)
        self.__dict__.update(state)
        nodes: list[Node] = []

        def node_at(arg: Any) -> Any:
            return nodes[arg.index] if isinstance(arg, _Place) else arg

        for op, name, target, args, kwargs, kind, meta in rows:
            new = self.create_node(
                op, target, map_aggregate(args, node_at), map_aggregate(kwargs, node_at), name, kind
            )
            new.meta = meta
            nodes.append(new)

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node at the place where new nodes go: the end, unless a context says otherwise.

        Args:
            op: the kind; see :mod:`facula.fx.node`.
            target: what is called or read.
            args: the positional arguments.
            kwargs: the arguments by name.
            name: the name that is wished for; it is changed if another node has it.
            type_expr: the type of the result, for the generated code.
        """
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        candidate = self._target_to_str(target) if name is None else name
        unique = self._graph_namespace.create_name(candidate, None)
        node = Node(self, unique, op, target, args, kwargs, type_expr)
        for hook in getattr(self._owning_module, "_create_node_hooks", ()):
            hook(node)
        self._graph_namespace.associate_name_with_obj(unique, node)
        self._insert(node)
        self._len += 1
        self._order_changed()
        return node

    def process_inputs(self, *args: Any) -> Any:
        """The inputs of the graph that stand for the arguments of its function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result of its function that stands for the output of the graph."""
        return self._codegen.process_outputs(out)

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out of the graph; nobody may use it any more.

        Args:
            to_erase: the node.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warn_user(f"erase_node({to_erase}) on an already erased node")
            return
        for hook in getattr(self._owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._unlink()
        to_erase._erased = True
        self._len -= 1
        to_erase._set_arguments((), {})
        self._order_changed()

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """From here on new nodes go before ``n``; at the end of a ``with`` the place is set back.

        Args:
            n: a node of the graph; None for the beginning.

        Example:
            >>> graph = facula.fx.symbolic_trace(lambda x: x + 1).graph
            >>> x, add, _ = graph.nodes
            >>> with graph.inserting_before(add):
            ...     y = graph.call_method("neg", (x,))
            >>> list(graph.nodes)
            [x, neg, add, output]
        """
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """From here on new nodes go after ``n``; at the end of a ``with`` the place is set back.

        Args:
            n: a node of the graph; None for the end.
        """
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Add an input.

        Args:
            name: its name; ``*name`` and ``**name`` take all other arguments.
            type_expr: its type, for the generated code.
            default_value: its default; ``...``, which is given if nothing is, for none.
        """
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add the reading of a parameter, a buffer, or another attribute of the root.

        Args:
            qualified_name: its path below the root: ``"layer.weight"``.
            type_expr: its type, for the generated code.
        """
        if self._owning_module is not None and not _has_attribute(
            self._owning_module, qualified_name
        ):
            warn_user(
                "Attempted to insert a get_attr Node with no underlying reference in the owning "
                "GraphModule! Call GraphModule.add_submodule to add the necessary submodule, "
                "GraphModule.add_parameter to add the necessary Parameter, or "
                "nn.Module.register_buffer to add the necessary buffer",
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add the call of a module.

        Args:
            module_name: its path below the root.
            args: the positional arguments.
            kwargs: the arguments by name.
            type_expr: the type of the result, for the generated code.
        """
        if self._owning_module is not None and not _has_attribute(self._owning_module, module_name):
            warn_user(
                "Attempted to insert a call_module Node with no underlying reference in the owning "
                "GraphModule! Call GraphModule.add_submodule to add the necessary submodule",
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add the call of a method of ``args[0]``.

        Args:
            method_name: its name.
            args: the object, and the positional arguments.
            kwargs: the arguments by name.
            type_expr: the type of the result, for the generated code.
        """
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Add the call of a function.

        Args:
            the_function: the function itself.
            args: the positional arguments.
            kwargs: the arguments by name.
            type_expr: the type of the result, for the generated code.
            name: the name that is wished for.
        """
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x
    ) -> Node:
        """Add a copy of a node of another graph.

        Args:
            node: the node.
            arg_transform: gives the node of this graph for one that ``node`` uses.
        """
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        new = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        new.meta = copy.copy(node.meta)
        return new

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Add the node that returns the result.

        Args:
            result: what is returned: a node, or nodes in tuples, lists and dicts.
            type_expr: its type, for the generated code.
        """
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def _target_to_str(self, target: Target | None) -> str:
        name = target.__name__ if callable(target) else str(target)
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        return _names.snake_case(name)

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
    ) -> PythonCode:
        """The graph as Python code.

        Args:
            root_module: the name of the variable that the root has in the code: ``"self"``.
            verbose: whether shapes, and the lines of the traced program, stand in comments.
            include_stride: accepted for programs that give it.
            include_device: accepted for programs that give it.
            colored: accepted for programs that give it.

        Example:
            >>> graph = facula.fx.symbolic_trace(lambda x: x.neg()).graph
            >>> print(graph.python_code("self").src.strip())
            def forward(self, x):
                neg = x.neg();  x = None
                return neg
        """
        # Names of nodes are those of variables; globals must not take one of them.
        namespace = _names.Namespace()
        renamed: list[tuple[Node, Callable[[Node], str] | None]] = []

        def variable(node: Node) -> str:
            return namespace.create_name(node.name, node)

        for node in self.nodes:
            renamed.append((node, node._repr_fn))
            node._repr_fn = variable
        try:
            return self._codegen._gen_python_code(
                self.nodes,
                root_module,
                namespace,
                verbose=verbose,
                include_stride=include_stride,
                include_device=include_device,
                colored=colored,
            )
        finally:
            for node, before in renamed:
                node._repr_fn = before

    def __str__(self) -> str:
        lines = [node.format_node() for node in self.nodes]
        return "graph():" + "".join(f"\n    {line}" for line in lines)

    def print_tabular(self) -> None:
        """Print the graph as a table.

        Example:
            >>> facula.fx.symbolic_trace(lambda x: x + 1).graph.print_tabular()
            opcode         name    target                   args    kwargs
            -------------  ------  -----------------------  ------  --------
            placeholder    x       x                        ()      {}
            call_function  add     <built-in function add>  (x, 1)  {}
            output         output  output                   (add,)  {}
        """
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        rows += [[str(x) for x in (n.op, n.name, n.target, n.args, n.kwargs)] for n in self.nodes]
        # The columns of the package tabulate: a header is at least two wider than its words.
        widths = [
            max(len(column[0]) + 2 * (i > 0), *map(len, column))
            for i, column in enumerate(zip(*rows, strict=True))
        ]
        rows.insert(1, ["-" * width for width in widths])
        for row in rows:
            print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())

    def lint(self) -> None:
        """Check that the graph is sound: raises a RuntimeError that names the first bad node.

        Names must be unique, nodes must belong to this graph and come before their users, and
        what is read from the root must be there.
        """
        from facula.fx import _lint

        _lint.check(self)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase nodes whose results nobody uses; gives whether there were any.

        Random numbers stay, and so does what changes something in place: functions, operators and,
        unlike in PyTorch, methods such as ``x.add_(1)``. Nobody may use their result, but what
        reads ``x`` behind them sees the change, so that a graph without them computes something
        else. ``is_impure_node`` can say that they may go.

        Args:
            is_impure_node: says of a node that it must stay; :meth:`Node.is_impure` by default.

        Example:
            >>> def f(x):
            ...     unused = x * 2
            ...     return x + 1
            >>> graph = facula.fx.symbolic_trace(f).graph
            >>> graph.eliminate_dead_code()
            True
            >>> list(graph.nodes)
            [x, add, output]
        """
        self.lint()
        keep = is_impure_node or Node.is_impure
        changed = False
        for node in reversed(self.nodes):
            if not node.users and node.op not in ("placeholder", "output") and not keep(node):
                self.erase_node(node)
                changed = True
        return changed

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let another object make the code of the graph.

        Args:
            codegen: the object.
        """
        self._codegen = codegen

    def on_generate_code(
        self,
        make_transformer: Callable[
            [Callable[[list[str]], list[str]] | None], Callable[[list[str]], list[str]]
        ],
    ) -> contextlib.AbstractContextManager[None]:
        """Let a function change the lines of the code when it is made.

        Args:
            make_transformer: is given the function that did so before, or None, and gives the one
                that does so from now on: it takes a list of lines, and gives one.

        Example:
            >>> graph = facula.fx.symbolic_trace(lambda x: x + 1).graph
            >>> _ = graph.on_generate_code(lambda before: lambda body: ["# first\\n", *body])
            >>> print(graph.python_code("self").src.strip())
            def forward(self, x):
                # first
                add = x + 1;  x = None
                return add
        """
        codegen = self._codegen
        before = codegen._body_transformer
        codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def restore() -> Iterator[None]:
            try:
                yield
            finally:
                codegen._body_transformer = before

        return restore()

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.users = {}
            self.erase_node(node)


class _Place:
    """Stands for a node in a pickle of a graph."""

    def __init__(self, index: int) -> None:
        self.index = index


def _copied_meta(meta: dict[str, Any], copies: dict[Node, Node]) -> dict[str, Any]:
    # Values of `meta` belong to passes; nodes among them shall be those of the copy.
    return {
        key: copies.get(value, value) if isinstance(value, Node) else value
        for key, value in meta.items()
    }


def _has_attribute(root: Module, path: str) -> bool:
    value: Any = root
    for part in path.split("."):
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True
