"""The public names of packages, and the modules that classes of ours are defined in."""

from __future__ import annotations

from types import ModuleType
from typing import Any

# Classes whose __module__ is PyTorch's name of their module, which it is under facula run only: the
# module of ours that each is defined in.
RENAMED: dict[type, str] = {}


def own_module(obj: Any) -> Any:
    """The module in which an object, or its class, is defined, by our name if it is ours.

    Args:
        obj: any class, function or object.
    """
    kind = obj if isinstance(obj, type) else type(obj)
    module = getattr(obj, "__module__", None) or kind.__module__
    return RENAMED[kind] if kind in RENAMED and module == kind.__module__ else module


def public_names(namespace: dict[str, Any], *submodules: str) -> list[str]:
    """What a package exports: all that it imported or defined without an underscore.

    A name is so marked once, in the ``__all__`` of its file, and the package takes it over with
    ``from file import *``. Type checkers read no computed list; a package that has none exports
    to them what it imports with a star, so this one is hidden behind ``if not TYPE_CHECKING``.

    Args:
        namespace: the ``globals()`` of the package, after its imports.
        submodules: the modules that are public themselves; others are files behind the names.
    """
    names = {
        name
        for name, value in namespace.items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    return sorted(names.union(submodules))
