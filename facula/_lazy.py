"""Modules that are imported when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType


def lazy_modules(package: str, *names: str) -> Callable[[str], ModuleType]:
    """The ``__getattr__`` of a package, some modules of which are imported at first use.

    Args:
        package: the name of the package.
        names: the modules.
    """

    def __getattr__(name: str) -> ModuleType:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return __getattr__
