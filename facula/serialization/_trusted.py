"""Real unpickling, for files that the caller trusts: whole modules, objects of any class."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from typing import IO, Any

from facula import _core, _legacy, _utils
from facula.serialization import _types
from facula.serialization._names import get_layout

_PACKAGES = {"torch": "facula", "torchvision": "facula.vision"}

# Where PyTorch has its functions, as files name them.
_FUNCTIONS = {
    "torch._C._VariableFunctionsClass": "facula",
    "torch._C._VariableFunctions": "facula",
    "torch._C._nn": "facula.nn.functional",
    "torch._C": "facula",
    "torch._jit_internal": "facula.nn.functional",
}
_MOVED = {
    ("torch._tensor", "_rebuild_from_type_v2"): _utils._rebuild_from_type_v2,
    ("torch.serialization", "_get_layout"): get_layout,
    ("torch.storage", "UntypedStorage"): _core.UntypedStorage,
}


def _resolve(module: str, name: str) -> Any:
    """Our object of PyTorch's name; AttributeError if there is none."""
    if "Storage" in name and hasattr(_legacy, name):
        return getattr(_legacy, name)  # also those of torch.cuda
    for prefix, ours in _FUNCTIONS.items():
        if module == prefix:
            return getattr(importlib.import_module(ours), name)
    package, _, rest = module.partition(".")
    parts = [_PACKAGES[package], *rest.split(".")] if rest else [_PACKAGES[package]]
    # Ours may lie in fewer files: the names are then public in a package above.
    for n in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:n]))
            for part in name.split("."):
                found = getattr(found, part)
            return found
        except (ModuleNotFoundError, AttributeError):
            continue
    raise AttributeError(
        f"load: the file has {module}.{name}, which Facula does not have. Its state_dict, saved in "
        "place of the whole object, can be loaded."
    )


class _Functions:
    """Stands for the class that PyTorch's files take functions from by getattr."""

    def __getattr__(self, name: str) -> Any:
        return _resolve("torch._C", name)


def _without_metadata(function: Callable[..., Any]) -> Callable[..., Any]:
    def rebuild(*args: Any) -> Any:
        _types.check_no_metadata(function, args)
        return function(*args)

    return rebuild


def load_trusted(
    file: IO[bytes],
    persistent_load: Callable[[Any], Any],
    pickle_module: Any,
    encoding: str,
    has_bytes: bool,
) -> Any:
    """Unpickle from ``file``, PyTorch's names taken for ours. This runs what the file asks for."""
    base = (pickle if pickle_module is None else pickle_module).Unpickler

    class Unpickler(base):  # type: ignore[misc, valid-type]
        def find_class(self, module: str, name: str) -> Any:
            if (module, name) in _MOVED:
                return _MOVED[module, name]
            if module == "torch._C" and name in ("_VariableFunctionsClass", "_VariableFunctions"):
                return _Functions()
            if module.partition(".")[0] in _PACKAGES:
                found = _resolve(module, name)
                return found if has_bytes or module != "torch._utils" else _without_metadata(found)
            return super().find_class(module, name)

        def persistent_load(self, saved: Any) -> Any:
            return persistent_load(saved)

    return Unpickler(file, encoding=encoding).load()
