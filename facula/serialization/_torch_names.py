"""The names that our types and functions have in PyTorch, and so in files: both ways."""

from __future__ import annotations

import importlib
from typing import Any

from facula import _core, _legacy, _utils
from facula._exports import own_module

_PACKAGES = {"torch": "facula", "torchvision": "facula.vision"}

# Private files of PyTorch that its checkpoints name.
_KEPT_PRIVATE = {"_utils", "_tensor"}

# Where PyTorch has its functions, as files name them.
_FUNCTIONS = {
    "torch._C._VariableFunctionsClass": "facula",
    "torch._C._VariableFunctions": "facula",
    "torch._C._nn": "facula.nn.functional",
    "torch._C": "facula",
    "torch._jit_internal": "facula.nn.functional",
}


LAYOUTS = {
    str(layout): layout for layout in vars(_core).values() if isinstance(layout, _core.layout)
}


def get_layout(name: str) -> _core.layout:
    """The layout of a name: what PyTorch's files make layouts by."""
    if name not in LAYOUTS:
        raise ValueError(f"load: expected the name of a layout, got {name!r:.50}.")
    return LAYOUTS[name]


# What PyTorch has in another place than we do.
_ELSEWHERE = {
    ("torch._tensor", "_rebuild_from_type_v2"): _utils._rebuild_from_type_v2,
    ("torch.serialization", "_get_layout"): get_layout,
    ("torch.storage", "UntypedStorage"): _core.UntypedStorage,
}
# By identity: objects that are asked for need not be hashable.
_NAMES_ELSEWHERE = {id(obj): name for name, obj in _ELSEWHERE.items()}


def torch_name(obj: Any, name: str | None = None) -> tuple[str, str] | None:
    """Module and name by which PyTorch knows one of our objects; None for those of others."""
    if id(obj) in _NAMES_ELSEWHERE:
        return _NAMES_ELSEWHERE[id(obj)]
    module = own_module(obj)
    parts = module.split(".") if isinstance(module, str) else [""]
    if parts[0] != "facula":
        return None
    is_vision = parts[:2] == ["facula", "vision"]
    public = ["torchvision" if is_vision else "torch"]
    for part in parts[2 if is_vision else 1 :]:
        if part.startswith("_") and part not in _KEPT_PRIVATE:
            break  # the package above such a file exports its names
        public.append(part)
    return ".".join(public), name or obj.__qualname__


def is_torch_module(module: str) -> bool:
    """Whether a file that names ``module`` means one of PyTorch's or torchvision's."""
    return module.partition(".")[0] in _PACKAGES


def ours_of(module: str) -> list[str]:
    """The modules of ours that may have what PyTorch has in ``module``, the likeliest first."""
    package, *rest = module.split(".")
    if package not in _PACKAGES:
        return []
    # Ours may lie in fewer files: the names are then public in a package above.
    return [".".join([_PACKAGES[package], *rest[:n]]) for n in range(len(rest), -1, -1)]


def find_ours(module: str, name: str) -> Any:
    """Our object of PyTorch's name; AttributeError if there is none. Imports what it must."""
    if (module, name) in _ELSEWHERE:
        return _ELSEWHERE[module, name]
    if module == "torch._C" and name in ("_VariableFunctionsClass", "_VariableFunctions"):
        return _Functions()
    if "Storage" in name and hasattr(_legacy, name):
        return getattr(_legacy, name)  # also those of torch.cuda
    if module in _FUNCTIONS:
        return getattr(importlib.import_module(_FUNCTIONS[module]), name)
    for ours in ours_of(module):
        try:
            found = importlib.import_module(ours)
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
        return find_ours("torch._C", name)
