"""Packages that may be installed."""

from __future__ import annotations

import importlib.util
from types import ModuleType

__all__ = ["dill_available", "import_dill"]


def _check_module_exists(name: str) -> bool:
    """Whether a module can be imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def dill_available() -> bool:
    """Whether the package ``dill`` is installed."""
    return _check_module_exists("dill")


def import_dill() -> ModuleType | None:
    """The package ``dill``; None if it is not installed."""
    return importlib.import_module("dill") if dill_available() else None
