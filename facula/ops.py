"""Operations by name: ``ops.mylib.scale``, and those of the package as ``ops.aten.add``."""

from __future__ import annotations

import os
import sys
import types
from importlib import import_module
from typing import Any

from facula._library.operators import namespace, namespaces
from facula._refusing import refusing

__all__ = ["aten", "load_library", "loaded_libraries"]

loaded_libraries: set[str] = set()
# Files of other packages, and who has their operations here.
_KNOWN = {"_torchaudio": "facula._library._audio", "libtorchaudio": "facula._library._audio"}
_refuse = refusing(
    "torch.ops.load_library",
    "libraries of operations that were compiled for PyTorch cannot be loaded. Define the operation "
    "with torch.library.custom_op.",
)


def load_library(path: str | os.PathLike[str]) -> None:
    """Have the operations of a library at hand: of torchaudio's, which are written here too.

    Args:
        path: the file, which is not opened. Any other library is refused.
    """
    name = os.path.basename(path).partition(".")[0]
    if name not in _KNOWN:
        _refuse(path)
    import_module(_KNOWN[name])
    loaded_libraries.add(os.fspath(path))


aten = namespace("aten")


class _Ops(types.ModuleType):
    """The module itself, whose attributes are the namespaces."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return namespace(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *namespaces})


sys.modules[__name__].__class__ = _Ops
