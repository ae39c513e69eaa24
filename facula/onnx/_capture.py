"""A model as an fx graph: it is run once with the example inputs, and each operation is noted.

The noting is done by a transform (:mod:`facula._transform`), so it sees what operations that are
composed in Python are made of, down to those of the core. What does not depend on inputs is no
step of the graph: it is computed, and its results are constants.

Dynamic dimensions. Every operation is done a second time, with inputs that are larger in these
dimensions. Where the sizes of the two results differ, they depend on a dynamic dimension; a program
that asks for such a size gets a :class:`~facula.onnx._sizes.TracedSize`. The program itself runs
once, so both sets of inputs go the way that it takes for the example.

Writes. ONNX has none: what writes to a tensor makes a new value, and the tensor's name stands for
that one from then on. A view remembers what it was taken of and how. So a write to it is a write
to all of the tensor below, at the view's positions, and reading a view whose tensor was written to
takes the view again.
"""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import facula
from facula import Tensor, nn
from facula._transform import Transform, _random_names, name_of, tensors_in
from facula._warnings import warn_user
from facula.fx.graph import Graph
from facula.fx.node import Node
from facula.jit import TracerWarning
from facula.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from facula.onnx._sizes import TracedSize, other_value
from facula.onnx.errors import OnnxExporterError

_PACKAGE = os.path.dirname(facula.__file__) + os.sep
_SIZES = {"shape.__get__", "size", "numel", "nelement", "__len__"}
# What tells the program a value of a tensor.
_VALUES = {"__bool__", "__complex__", "__float__", "__index__", "__int__", "is_nonzero"}
_VALUES |= {"__array__", "equal", "item", "numpy", "tolist"}
_WRITING_OPERATORS = {"__setitem__", "__iand__", "__ior__", "__ixor__", "__ipow__"}
_KEEPS_NOTHING = {"requires_grad_", "retain_grad", "register_hook"}


class Form(NamedTuple):
    """What is known of a value: its dtype, and its sizes, None for a dynamic one."""

    dtype: facula.dtype
    shape: tuple[int | None, ...]


class OtherSizesFailed(OnnxExporterError):
    """An operation cannot be done with the second set of inputs."""


@dataclass
class _Traced:
    """What the graph knows of a tensor of the program.

    Args:
        tensor: the tensor; kept, so that no other one can get its id.
        other: the tensor that the second set of inputs has in its place.
        node: the node whose result it is.
        below: what it is a view of.
        source: the node of ``below`` that ``node`` was made with.
    """

    tensor: Any
    other: Any
    node: Node
    below: _Traced | None = None
    source: Node | None = None


def positions(x: Tensor) -> Tensor:
    """The number of each element of ``x``, in its shape."""
    return facula.arange(x.numel()).view(x.shape)


def put_at(x: Tensor, places: Tensor, values: Tensor) -> Tensor:
    """``x`` with values at the places that :func:`positions` counts."""
    return x.clone().put_(places, values.expand(places.shape).to(x.dtype))


def size_of(x: Tensor, dim: int) -> int:
    """A size of a tensor."""
    return x.shape[dim]


def size_from(x: Tensor) -> int:
    """A tensor of one integer as a size."""
    return int(x)


class Capture(Transform):
    """The transform that notes operations in :attr:`graph` while it is active.

    Args:
        names: the names of the model's parameters and buffers, by their ids.
        modules: the paths of the model's parts, by their ids.
        folds: whether what is computed from parameters alone becomes a constant.
        composed: operations composed in Python that are one step.
    """

    def __init__(
        self, names: dict[int, str], modules: dict[int, str], folds: bool, composed: set[Any]
    ) -> None:
        self.composed = composed  # type: ignore[misc]
        self.graph = Graph()
        self.constants: dict[str, Tensor] = {}
        self._names, self._modules, self._folds = names, modules, folds
        self._known: dict[int, _Traced] = {}
        self._constant_nodes: dict[int, tuple[Tensor, Node]] = {}
        self._size_nodes: dict[tuple[Node, int], Node] = {}
        self._pairs: dict[Node, list[tuple[int, int]]] = {}
        self._path: list[str] = []

    def __enter__(self) -> Capture:
        super().__enter__()
        self._hooks = [
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module, always_call=True),
        ]
        return self

    def __exit__(self, *error: object) -> None:
        for hook in self._hooks:
            hook.remove()
        super().__exit__(*error)

    def _enter_module(self, module: nn.Module, args: Any) -> None:
        self._path.append(self._modules.get(id(module), type(module).__name__))

    def _leave_module(self, module: nn.Module, args: Any, output: Any) -> None:
        self._path.pop()

    def add_input(self, name: str, tensor: Tensor, other: Tensor) -> None:
        """Add an input of the graph.

        Args:
            name: its name.
            tensor: the example.
            other: the example with other sizes, or ``tensor`` itself.
        """
        node = self.graph.placeholder(name)
        node.meta["form"] = _forms(tensor, other)
        self._known[id(tensor)] = _Traced(tensor, other, node)
        self._pairs[node] = _pairs(tensor, other)

    def add_outputs(self, tensors: list[Tensor]) -> None:
        """Add the results, and take away what they do not need."""
        nodes = [self._node(tensor) for tensor in tensors]
        for tensor, node in zip(tensors, nodes, strict=True):
            self._pairs[node] = _pairs(tensor, self._other(tensor))
        self.graph.output(tuple(nodes))
        # Writes are nodes of their own, whose results are used where they matter.
        self.graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output"))

    def pairs(self, node: Node) -> list[tuple[int, int]]:
        """The sizes of a result for both sets of inputs."""
        return self._pairs[node]

    def symbols(self, axes: list[dict[int, str]]) -> dict[tuple[int, int], str]:
        """The names of dynamic dimensions by their sizes for both sets of inputs.

        Args:
            axes: the names of each input's dynamic dimensions.
        """
        inputs = self.graph.find_nodes(op="placeholder")
        return {
            self.pairs(node)[dim]: name
            for node, names in zip(inputs, axes, strict=True)
            for dim, name in names.items()
        }

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        name = name_of(func)
        if name in _SIZES and id(args[0]) in self._known:
            return self._size(name, func, args, kwargs)
        if name in _KEEPS_NOTHING or not (self._depends(args, kwargs) or name in _random_names()):
            return func(*args, **kwargs)
        if name in _VALUES:
            return self._value(name, func, args, kwargs)
        written = _written(name, args, kwargs)
        if written is not None:
            return self._do_write(written, func, args, kwargs)
        result = func(*args, **kwargs)
        if any(isinstance(leaf, Tensor) for leaf in _leaves(result)):
            other = self._other_result(func, args, kwargs, result)
            dim = self._counted_dim(name, args)
            if dim is not None:
                other = _with_other_count(result, other, dim)
            node = self._step(func, self._noted(args), self._noted(kwargs))
            self._track(result, other, node, (*args, *kwargs.values()))
        return result

    def _counted_dim(self, name: str, args: Any) -> int | None:
        """The dimension of the result that counts elements, if values decide which are picked."""
        if name in _COUNTING:
            return None if name == "masked_select" and not self._is_variable_mask(args[1]) else 0
        if name != "__getitem__":
            return None
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        places = [i for i, item in enumerate(index) if self._is_variable_mask(item)]
        if not places:
            return None
        if sum(isinstance(item, Tensor) for item in index) > 1 or any(
            item is Ellipsis for item in index
        ):
            warn_user(
                "The number of elements that a mask picks depends on the inputs: beside other "
                "indices of that kind the exported model keeps the number of the example inputs.",
                TracerWarning,
            )
            return None
        return sum(not isinstance(item, int) for item in index[: places[0]])

    def _is_variable_mask(self, item: Any) -> bool:
        return isinstance(item, Tensor) and item.dtype == facula.bool and self._is_variable(item)

    def _depends(self, *values: Any) -> bool:
        """Whether there is something among the values that only the inputs decide."""
        return any(
            isinstance(leaf, TracedSize) or (isinstance(leaf, Tensor) and self._is_variable(leaf))
            for leaf in _leaves(values)
        )

    def _is_variable(self, tensor: Tensor) -> bool:
        return id(tensor) in self._known or (not self._folds and id(tensor) in self._names)

    def _other_result(
        self, func: Callable[..., Any], args: Any, kwargs: dict[str, Any], result: Any
    ) -> Any:
        others = _mapped(self._other, (args, kwargs))
        if all(a is b for a, b in zip(_leaves((args, kwargs)), _leaves(others), strict=True)):
            return result
        try:
            other = func(*others[0], **others[1])
        except Exception as error:
            raise OtherSizesFailed(self._at(f"{name_of(func)}: {error}")) from error
        if len(_leaves(other)) != len(_leaves(result)) or any(
            a.dim() != b.dim()
            for a, b in zip(tensors_in([result]), tensors_in([other]), strict=True)
        ):
            raise OtherSizesFailed(
                self._at(
                    f"{name_of(func)}: for other sizes it gives another number of results, or of "
                    "dimensions."
                )
            )
        return other

    def _other(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            traced = self._known.get(id(value))
            return value if traced is None else traced.other
        return other_value(value)

    def _noted(self, value: Any) -> Any:
        """A value with nodes in the place of tensors and traced sizes."""

        def note(item: Any) -> Any:
            if isinstance(item, Tensor):
                return self._node(item)
            return item.node if isinstance(item, TracedSize) else item

        return _mapped(note, value)

    def _node(self, tensor: Tensor) -> Node:
        traced = self._known.get(id(tensor))
        if traced is not None:
            return self._current(traced)
        if id(tensor) not in self._constant_nodes:
            name = self._names.get(id(tensor))
            is_own = name is None
            name = name or f"constant_{len(self.constants)}"
            # A copy: the program may write to a tensor of its own afterwards.
            self.constants[name] = tensor.detach().clone() if is_own else tensor
            node = self.graph.create_node("get_attr", name)
            node.meta["form"] = _forms(tensor, tensor)
            if not is_own:
                self._constant_nodes[id(tensor)] = tensor, node
            return node
        return self._constant_nodes[id(tensor)][1]

    def _current(self, traced: _Traced) -> Node:
        """The node of a tensor; of a view, taken again if what is below was written to."""
        if traced.below is not None and traced.source is not None:
            source = self._current(traced.below)
            if source is not traced.source:
                traced.node = self._again(traced, source)
                traced.source = source
        return traced.node

    def _again(self, view: _Traced, source: Node) -> Node:
        return self.graph.node_copy(view.node, lambda n: source if n is view.source else n)

    def _step(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Node:
        node = self.graph.call_function(func, args, kwargs)
        node.meta["module"] = self._path[-1] if self._path else ""
        node.meta["line"] = _users_line()
        return node

    def _track(self, result: Any, other: Any, node: Node, args: Any) -> None:
        node.meta["form"] = _forms(result, other)
        below = next(
            (self._known[id(t)] for t in _bases(result, args) if id(t) in self._known), None
        )
        source = None if below is None else below.node
        if isinstance(result, Tensor):
            if id(result) not in self._known:  # else it is an argument: nothing was done
                self._known[id(result)] = _Traced(result, other, node, below, source)
            return
        whole = _Traced(result, other, node, below, source)
        for i, (part, other_part) in enumerate(zip(result, other, strict=True)):
            if isinstance(part, Tensor):
                item = self.graph.call_function(operator.getitem, (node, i))
                item.meta["form"] = _forms(part, other_part)
                above = (None, None) if below is None else (whole, node)
                self._known[id(part)] = _Traced(part, other_part, item, *above)

    def _do_write(
        self, tensor: Tensor, func: Callable[..., Any], args: Any, kwargs: dict[str, Any]
    ) -> Any:
        if id(tensor) not in self._known:
            self._track_constant(tensor)
        # The step first: afterwards the tensor has another value.
        if func.__name__ == "__setitem__":
            # x[index] = value puts it at the positions that the index picks.
            target, index, values = self._noted(args)
            places = self._step(Tensor.__getitem__, (self._positions(target), index), {})
            places.meta["form"] = Form(facula.int64, ())
            node = self._step(put_at, (target, places, values), {})
        else:
            node = self._step(func, self._noted(args), self._noted(kwargs))
        result = func(*args, **kwargs)
        self._other_result(func, args, kwargs, result)
        self._write(tensor, node)
        return result

    def _track_constant(self, tensor: Tensor) -> None:
        """Take a tensor that was a constant so far into the graph: it will be written to."""
        base = tensor._base
        if base is None:
            self._known[id(tensor)] = _Traced(tensor, tensor.clone(), self._node(tensor))
            return
        if id(base) not in self._known:
            self._track_constant(base)
        below = self._known[id(base)]
        if not base.is_contiguous():
            what = "a view of a constant that is not contiguous is written to"
            raise OnnxExporterError(f"onnx.export: {self._at(what)}. Write to a copy instead.")
        # The view as elements of the whole, wherever they are.
        offset = tensor.storage_offset() - base.storage_offset()
        layout = tensor.shape, tensor.stride()
        places = facula.arange(base.numel()).as_strided(*layout, offset)
        node = self._step(Tensor.take, (below.node, self._node(places)), {})
        node.meta["form"] = _forms(tensor, tensor)
        other = below.other.as_strided(*layout, offset)
        self._known[id(tensor)] = _Traced(tensor, other, node, below, below.node)

    def _write(self, tensor: Tensor, node: Node) -> None:
        traced = self._known[id(tensor)]
        node.meta["form"] = _forms(tensor, traced.other)
        steps = []
        root = traced
        while root.below is not None:
            steps.append(root)
            root = root.below
        if root is traced:
            traced.node = node
            return
        before = self._current(root)
        places = self._positions(before)
        for view in reversed(steps):
            places = self._again(view, places)
            form = view.node.meta["form"]
            if isinstance(form, Form):
                places.meta["form"] = Form(facula.int64, form.shape)
        root.node = self._step(put_at, (before, places, node), {})
        root.node.meta["form"] = _forms(root.tensor, root.other)

    def _positions(self, node: Any) -> Node:
        places = self._step(positions, (node,), {})
        places.meta["form"] = Form(facula.int64, node.meta["form"].shape)
        return places

    def _size(self, name: str, func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        traced = self._known[id(args[0])]
        pairs = _pairs(traced.tensor, traced.other)
        if all(a == b for a, b in pairs):
            return func(*args, **kwargs)
        sizes = [
            a if a == b else TracedSize(a, b, self._size_node(self._current(traced), i))
            for i, (a, b) in enumerate(pairs)
        ]
        if name in ("numel", "nelement"):
            total: int = 1
            for size in sizes:
                total = total * size
            return total
        if name == "__len__":
            return int(sizes[0])  # Python itself asks, and wants a plain one
        dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
        return facula.Size(sizes) if dim is None else sizes[dim]

    def _size_node(self, node: Node, dim: int) -> Node:
        if (node, dim) not in self._size_nodes:
            self._size_nodes[node, dim] = self.graph.call_function(size_of, (node, dim))
        return self._size_nodes[node, dim]

    def _value(self, name: str, func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        result = func(*args, **kwargs)
        tensor = args[0]
        if name == "item" and type(result) is int and id(tensor) in self._known:
            other = int(self._known[id(tensor)].other.item())
            return TracedSize(result, other, self._step(size_from, (self._node(tensor),), {}))
        warn_user(
            f"A value of a tensor that depends on the inputs was read with {name}: the exported "
            "model keeps what follows from its value for the example inputs. Decide by sizes, or "
            "with facula.where.",
            TracerWarning,
        )
        return result

    def _at(self, what: str) -> str:
        path = f" in module {self._path[-1]!r}" if self._path and self._path[-1] else ""
        return f"{what}{path} ({_users_line()})"


def _pairs(tensor: Tensor, other: Tensor) -> list[tuple[int, int]]:
    return list(zip(tensor.shape, other.shape, strict=True))


def _forms(value: Any, other: Any) -> Any:
    if isinstance(value, Tensor):
        return Form(value.dtype, tuple(a if a == b else None for a, b in _pairs(value, other)))
    if isinstance(value, (list, tuple)):
        return [_forms(a, b) for a, b in zip(value, other, strict=True)]
    return None


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The value with ``function(leaf)`` for each leaf; a Size becomes a tuple, which holds all."""
    if isinstance(value, tuple):
        return tuple(_mapped(function, item) for item in value)
    if isinstance(value, list):
        return [_mapped(function, item) for item in value]
    if isinstance(value, dict):
        return {key: _mapped(function, item) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(_mapped(function, v) for v in (value.start, value.stop, value.step)))
    return function(value)


def _leaves(value: Any) -> list[Any]:
    leaves: list[Any] = []
    _mapped(leaves.append, value)
    return leaves


# Operations whose results have as many elements as they find.
_COUNTING = ("nonzero", "argwhere", "masked_select", "_nms")


def _with_other_count(result: Any, other: Any, dim: int) -> Any:
    """What the second set of inputs finds: as many elements as the first does, and one more.

    So the number is a dynamic size, whatever the values of the examples are.
    """
    if isinstance(result, (list, tuple)):
        return type(other)(
            [_with_other_count(a, b, dim) for a, b in zip(result, other, strict=True)]
        )
    n = int(result.shape[dim]) + 1
    if other.shape[dim] == 0:
        return other.new_zeros((*other.shape[:dim], n, *other.shape[dim + 1 :]))
    places = facula.arange(n, device=other.device) % int(other.shape[dim])
    return other.index_select(dim, places)


def _bases(result: Any, args: Any) -> list[Tensor]:
    """The tensors among the arguments whose memory a result shares."""
    memory = {t.untyped_storage()._address() for t in tensors_in([result])} - {0}
    return [t for t in tensors_in(args) if t.untyped_storage()._address() in memory]


def _written(name: str, args: Any, kwargs: dict[str, Any]) -> Tensor | None:
    """The tensor that an operation writes to."""
    if isinstance(kwargs.get("out"), Tensor):
        return kwargs["out"]  # type: ignore[no-any-return]
    is_in_place = name.endswith("_") and not name.endswith("__")
    return args[0] if is_in_place or name in _WRITING_OPERATORS else None


def _users_line() -> str:
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
