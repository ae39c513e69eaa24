"""The names that our types and functions have in PyTorch, and so in files."""

from __future__ import annotations

from typing import Any

from facula import _core, _utils

# Private files of PyTorch that its checkpoints name.
_KEPT_PRIVATE = {"_utils", "_tensor"}


def get_layout(name: str) -> _core.layout:
    """The layout of a name: what PyTorch's files make layouts by."""
    if name != "torch.strided":
        raise ValueError(f"load: expected the layout 'torch.strided', got {name!r:.50}.")
    return _core.strided


# Where PyTorch has what we have elsewhere.
_ELSEWHERE = {
    id(_utils._rebuild_from_type_v2): ("torch._tensor", "_rebuild_from_type_v2"),
    id(get_layout): ("torch.serialization", "_get_layout"),
    id(_core.UntypedStorage): ("torch.storage", "UntypedStorage"),
}


def torch_name(obj: Any, name: str | None = None) -> tuple[str, str] | None:
    """Module and name by which PyTorch knows one of our objects; None for those of others."""
    if id(obj) in _ELSEWHERE:
        return _ELSEWHERE[id(obj)]
    module = getattr(obj, "__module__", None) or type(obj).__module__
    parts = module.split(".") if isinstance(module, str) else [""]
    if parts[0] != "facula":
        return None
    public = ["torch"]
    for part in parts[1:]:
        if part.startswith("_") and part not in _KEPT_PRIVATE:
            break  # a file that the package above it has the names of
        public.append(part)
    return ".".join(public), name or obj.__qualname__
