"""How our modules look under their other names: versions, names, and what they say of a gap."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from facula._exports import RENAMED
from facula.compat import _report
from facula.compat._alias import ERA, other_name
from facula.compat._refusals import REFUSALS, NotInFacula, sentence
from facula.compat._versions import versions
from facula.torch_version import TorchVersion

# What plain pickles call: named as PyTorch has them, so that PyTorch reads the pickles too.
_REBUILDERS = {
    "facula._tensor": "_rebuild_from_type_v2",
    "facula._utils": "_rebuild_meta_tensor_no_storage _rebuild_parameter "
    "_rebuild_parameter_with_state _rebuild_sparse_tensor _rebuild_tensor_v2 _rebuild_tensor_v3",
    "facula.storage": "_load_from_bytes",
}


def dress(name: str, module: ModuleType) -> None:
    """Make one of our modules, which is loaded, answer as the other package's.

    Args:
        name: the module's own name.
        module: the module.
    """
    theirs = other_name(name) or name
    # What is made in the module from now on, and errors, say this name; its spec keeps its own.
    vars(module)["__name__"] = theirs
    if name == "facula":
        module.__version__ = TorchVersion(versions()["torch"])  # type: ignore[attr-defined]
        module.torch = module  # type: ignore[attr-defined]
        _refuse_methods(module.Tensor)
        if ERA in os.environ:  # a child of a program of that era
            import_module("facula.compat.era").enable(os.environ[ERA])
    elif name == "facula.version":
        module.__version__ = versions()["torch"]  # type: ignore[attr-defined]
    elif name in ("facula.vision", "facula.vision.version"):
        module.__version__ = versions()["torchvision"]  # type: ignore[attr-defined]
    _rename_classes(name, theirs, module)
    for function in _REBUILDERS.get(name, "").split():
        vars(module)[function].__module__ = theirs
    if name != "facula._core":
        # Into the dict: a module with settings may refuse to be given other attributes.
        vars(module)["__getattr__"] = _explainer(theirs, vars(module).get("__getattr__"), module)
        _report.watch(theirs, module)


def _rename_classes(name: str, theirs: str, module: ModuleType) -> None:
    """Let the classes that a public module has say that they are the other package's."""
    if name.rpartition(".")[2].startswith("_"):
        return  # a file behind a public module, which has its classes
    classes: list[type] = [value for value in vars(module).values() if isinstance(value, type)]
    for cls in classes:
        home = cls.__module__
        is_here = home == name or home.startswith(f"{name}._")
        if is_here and vars(module).get(cls.__qualname__) is cls:
            RENAMED[cls] = home
            cls.__module__ = theirs


class _Refused:
    """Stands where a method of tensors would be, and says why there is none.

    Args:
        name: the method's name in PyTorch.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, obj: Any, kind: Any = None) -> Any:
        raise NotInFacula(sentence(self._name), name=self._name.rpartition(".")[2], obj=obj)


def _refuse_methods(tensor: type) -> None:
    prefix = "torch.Tensor."
    for row in REFUSALS:
        for name in row.names:
            if name.startswith(prefix):
                setattr(tensor, name[len(prefix) :], _Refused(name))


def _explainer(
    theirs: str, own: Callable[[str], Any] | None, module: ModuleType
) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module: its own, and a good sentence where that has nothing."""

    def explain(name: str) -> Any:
        if own is not None:
            try:
                return own(name)
            except AttributeError as error:
                if " has no attribute " not in str(error):
                    raise  # it says more than we could
        if not name.startswith("__"):
            _report.miss(f"{theirs}.{name}")
            text = sentence(f"{theirs}.{name}")
            if text is not None:
                raise NotInFacula(text, name=name, obj=module)
        raise AttributeError(
            f"module {theirs!r} has no attribute {name!r}", name=name, obj=module
        ) from None

    return explain
