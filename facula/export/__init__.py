"""The names of ``torch.export``: programs are not captured and saved with their code here.

What describes sizes that may vary is whole, since :func:`facula.onnx.export` takes it.
"""

from __future__ import annotations

from typing import Any

from facula._refusing import refusing, refusing_class
from facula.export import dynamic_shapes
from facula.export.dynamic_shapes import Dim, dims
from facula.utils import _pytree

__all__ = [
    "Dim",
    "ExportGraphSignature",
    "ExportedProgram",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "UnflattenedModule",
    "dims",
    "draft_export",
    "dynamic_shapes",
    "export",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]

_NO_PROGRAMS = (
    "programs are not saved with their code. Save the state_dict, export to ONNX with "
    "torch.onnx.export, or take the graph of torch.fx.symbolic_trace."
)
ExportGraphSignature = refusing_class("torch.export.ExportGraphSignature", _NO_PROGRAMS)
ExportedProgram = refusing_class("torch.export.ExportedProgram", _NO_PROGRAMS)
ModuleCallEntry = refusing_class("torch.export.ModuleCallEntry", _NO_PROGRAMS)
ModuleCallSignature = refusing_class("torch.export.ModuleCallSignature", _NO_PROGRAMS)
UnflattenedModule = refusing_class("torch.export.UnflattenedModule", _NO_PROGRAMS)
draft_export = refusing("torch.export.draft_export", _NO_PROGRAMS)
export = refusing("torch.export.export", _NO_PROGRAMS)
load = refusing("torch.export.load", _NO_PROGRAMS)
save = refusing("torch.export.save", _NO_PROGRAMS)
unflatten = refusing("torch.export.unflatten", _NO_PROGRAMS)


def register_dataclass(cls: type[Any], *, serialized_type_name: str | None = None) -> None:
    """Make a dataclass a container of tensors, which arguments and results may be.

    Args:
        cls: the dataclass.
        serialized_type_name: the name of the class where structures are written as text.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Pair:
        ...     first: facula.Tensor
        ...     second: facula.Tensor
        >>> facula.export.register_dataclass(Pair)
        >>> facula.utils._pytree.tree_leaves(Pair(1, 2))
        [1, 2]
    """
    _pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)
