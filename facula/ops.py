"""Operations by name: ``ops.mylib.scale``, and those of the package as ``ops.aten.add``."""

from __future__ import annotations

import sys
import types
from typing import Any

from facula._library.operators import namespace, namespaces
from facula._refusing import refusing

__all__ = ["aten", "load_library", "loaded_libraries"]

load_library = refusing(
    "torch.ops.load_library",
    "libraries of operations that were compiled for PyTorch cannot be loaded. Define the operation "
    "with torch.library.custom_op.",
)
loaded_libraries: set[str] = set()
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
