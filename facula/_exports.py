"""The public names of a package whose files each have an ``__all__`` of their own."""

from __future__ import annotations

from types import ModuleType
from typing import Any


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
