"""Pictures of graphs, in the language of Graphviz."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import facula
from facula.fx import _names
from facula.fx.graph_module import GraphModule
from facula.fx.node import Node

__all__ = ["FxGraphDrawer"]

# One colour for each kind of node; calls of one target have one of their own.
_COLORS = {"placeholder": "AliceBlue", "get_attr": "LightGrey", "output": "PowderBlue"}
_CALLS = ["CadetBlue1", "Coral", "DarkOliveGreen1", "DarkSeaGreen1", "GhostWhite", "Khaki1"]
_CALLS += ["LavenderBlush1", "LightSkyBlue", "MistyRose1", "MistyRose2", "PaleTurquoise2"]
_CALLS += ["PeachPuff1", "Salmon", "Thistle1", "Thistle3", "Wheat1"]


class _Picture:
    """A graph in Graphviz's language; ``write_svg(path)`` and the like run its program ``dot``."""

    def __init__(self, text: str) -> None:
        self._text = text

    def to_string(self) -> str:
        return self._text

    def write(self, path: str | Path, prog: Any = None, format: str = "raw") -> bool:
        data = self._text.encode() if format == "raw" else self.create(prog, format)
        Path(path).write_bytes(data)
        return True

    def create(self, prog: Any = None, format: str = "ps") -> bytes:
        program = shutil.which(prog or "dot")
        if program is None:
            raise FileNotFoundError(
                f"FxGraphDrawer: the program {prog or 'dot'!r} of Graphviz is not installed. "
                "Install Graphviz, or write the text with write_raw() and draw it elsewhere."
            )
        command = [program, f"-T{format}"]
        return subprocess.run(command, input=self._text.encode(), capture_output=True).stdout

    def __getattr__(self, name: str) -> Any:
        verb, _, format = name.partition("_")
        if verb == "write" and format:
            return lambda path, prog=None: self.write(path, prog, format)
        if verb == "create" and format:
            return lambda prog=None: self.create(prog, format)
        raise AttributeError(name)


class FxGraphDrawer:
    """Draws the graph of a module.

    Args:
        graph_module: the module.
        name: the name of the picture.
        ignore_getattr: whether the reading of attributes is left out.
        ignore_parameters_and_buffers: whether parameters and buffers of modules are left out.
        skip_node_names_in_args: whether nodes among arguments are left out: arrows show them.

    Example:
        >>> from facula.fx.passes.graph_drawer import FxGraphDrawer
        >>> traced = facula.fx.symbolic_trace(lambda x: facula.relu(x))
        >>> picture = FxGraphDrawer(traced, "relu").get_dot_graph()
        >>> "x -> relu" in picture.to_string()
        True
    """

    def __init__(
        self,
        graph_module: GraphModule,
        name: str,
        ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False,
        skip_node_names_in_args: bool = True,
    ) -> None:
        self._module = graph_module
        self._name = name
        self._skips_attributes = ignore_getattr
        self._skips_parameters = ignore_parameters_and_buffers
        self._skips_nodes = skip_node_names_in_args
        self._colors: dict[str, str] = {}

    def get_dot_graph(self, submod_name: str | None = None) -> _Picture:
        """The picture: ``to_string()``, ``write_raw(path)``, and with Graphviz ``write_svg(path)``.

        Args:
            submod_name: the name of a part whose module is a graph module, to draw that alone.
        """
        module = self._module if submod_name is None else getattr(self._module, submod_name)
        nodes = [
            node
            for node in module.graph.nodes
            if not (self._skips_attributes and node.op == "get_attr")
        ]
        lines = [f'digraph "{_escaped(self._name)}" {{', "rankdir=TB;"]
        for node in nodes:
            label = _escaped(self._label(module, node))
            lines.append(
                f'{node.name} [shape=record, style="filled,rounded", '
                f'fillcolor={self._color(node)}, fontcolor="#000000", label="{label}"];'
            )
        for node in nodes:
            lines += [
                f"{used.name} -> {node.name};" for used in node.all_input_nodes if used in nodes
            ]
        return _Picture("\n".join([*lines, "}"]) + "\n")

    def get_main_dot_graph(self) -> _Picture:
        """The picture of the module itself."""
        return self.get_dot_graph()

    def get_all_dot_graphs(self) -> dict[str, _Picture]:
        """The pictures of the module and of its parts that are graph modules, by name."""
        parts = {
            f"{self._name}_{name}": FxGraphDrawer(child, f"{self._name}_{name}").get_dot_graph()
            for name, child in self._module.named_children()
            if isinstance(child, GraphModule)
        }
        return {self._name: self.get_dot_graph(), **parts}

    def _color(self, node: Node) -> str:
        if node.op in _COLORS:
            return _COLORS[node.op]
        target = _names.target_name(node.target)
        return self._colors.setdefault(target, _CALLS[len(self._colors) % len(_CALLS)])

    def _label(self, module: GraphModule, node: Node) -> str:
        rows = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            called = module.get_submodule(str(node.target))
            rows.append(f"{type(called).__module__}.{type(called).__name__}")
            if not self._skips_parameters:
                rows += [f"{name}: {tuple(p.shape)}" for name, p in called.named_parameters()]
        elif node.op in ("call_function", "call_method"):
            rows.append(f"target={_names.target_name(node.target)}")
        args = [arg for arg in node.args if not (self._skips_nodes and isinstance(arg, Node))]
        if node.op not in ("placeholder", "output") and args:
            rows.append(f"args={tuple(args)}")
        rows.append(f"num_users={len(node.users)}")
        meta: Any = node.meta.get("tensor_meta")
        if isinstance(getattr(meta, "shape", None), facula.Size):
            rows.append(f"dtype={meta.dtype}, shape={tuple(meta.shape)}")
        return "{" + "|".join(re.sub(r"[{}<>|]", " ", row) for row in rows) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
