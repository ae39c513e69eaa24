"""An fx graph of :mod:`facula.onnx._capture` as a graph of ONNX's operators."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from facula import Tensor, view_as_real
from facula._transform import name_of, with_usual_names
from facula.fx.graph import Graph
from facula.fx.node import Node, map_arg
from facula.onnx._capture import Form
from facula.onnx._rows import ROWS, row_name
from facula.onnx._rows.shape import SIZE_ROWS
from facula.onnx._rows.spectral import COMPLEX_ROWS
from facula.onnx._writer import SizeValue, Value, Writer
from facula.onnx.errors import OnnxExporterError, UnsupportedOperatorError


class Translation:
    """The walk over a graph, which writes each step.

    Args:
        writer: what is written to.
        constants: the constants of the graph by name.
        custom: translations that come before those of the table.
    """

    def __init__(
        self,
        writer: Writer,
        constants: Mapping[str, Tensor],
        custom: Mapping[Any, Callable[..., Any]],
    ) -> None:
        self.writer = writer
        self._constants = constants
        self._custom = custom
        self._values: dict[Node, Any] = {}

    def run(self, graph: Graph, input_names: Sequence[str]) -> list[str]:
        """Write all steps; the names of the results.

        Args:
            graph: the graph.
            input_names: the names of its inputs.
        """
        names = iter([self.writer.name(name) for name in input_names])
        results: list[str] = []
        for node in graph.nodes:
            if node.op == "placeholder":
                self._values[node] = Value(next(names), node.meta["form"])
            elif node.op == "get_attr":
                self._values[node] = self._constant(node)
            elif node.op == "output":
                results = [self._values[each] for each in node.args[0]]
            else:
                self._values[node] = self._step(node)
        return results

    def _constant(self, node: Node) -> Value:
        name = self.writer.name(str(node.target))
        value = self._constants[str(node.target)]
        if value.is_complex():
            value = view_as_real(value.resolve_conj())
        self.writer.initializers[name] = value
        return Value(name, node.meta["form"])

    def _step(self, node: Node) -> Any:
        if node.target is operator.getitem:
            return self._values[node.args[0]][node.args[1]]
        args = map_arg(node.args, self._values.__getitem__)
        kwargs = map_arg(node.kwargs, self._values.__getitem__)
        if node.target in SIZE_ROWS:
            return SIZE_ROWS[node.target](self.writer, *args)
        form: Any = node.meta.get("form")
        is_complex = _has_complex((args, kwargs, form))
        function = self._row(node, is_complex)
        self.writer.result = form
        self.writer.scope = _scope(node.meta.get("module", ""))
        kwargs = dict(kwargs)
        args = with_usual_names(tuple(args), kwargs)
        try:
            result = function(self.writer, *args, **kwargs)
        except OnnxExporterError as error:
            raise type(error)(f"{error} {_place(node)}{_WAY_OUT}") from None
        except TypeError as error:
            message = f"onnx.export: {name_of(node.target)} with these arguments has no "
            raise UnsupportedOperatorError(
                f"{message}translation to ONNX ({error}). {_place(node)}{_WAY_OUT}"
            ) from error
        if isinstance(result, (int, SizeValue)):
            return result
        if isinstance(result, (list, tuple)):
            return [Value(*pair) for pair in zip(result, form, strict=False)]
        return Value(result, form)

    def _row(self, node: Node, is_complex: bool) -> Callable[..., Any]:
        target: Any = node.target
        name = name_of(target)
        if target in self._custom:
            return self._custom[target]
        # A method and the function of its name are the same operation.
        for key, function in self._custom.items():
            if getattr(key, "__name__", None) == name:
                return function
        rows = COMPLEX_ROWS if is_complex else ROWS
        if row_name(name) not in rows:
            of_complex = " of complex numbers" if is_complex else ""
            raise UnsupportedOperatorError(
                f"onnx.export: the operation {name}{of_complex} has no translation to ONNX. "
                f"{_place(node)}{_WAY_OUT}"
            )
        return rows[row_name(name)]


_WAY_OUT = (
    " Give a translation with custom_translation_table={operation: function}, or write the "
    "computation with other operations."
)


def _has_complex(value: Any) -> bool:
    if isinstance(value, (Value, Form)):
        return value.dtype.is_complex
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return False
    return any(map(_has_complex, value))


def _scope(path: str) -> str:
    return "/" + path.replace(".", "/") if path else ""


def _place(node: Node) -> str:
    module = node.meta.get("module")
    inside = f"in the module {module!r}, " if module else ""
    return f"It is called {inside}at {node.meta.get('line')}."
