"""Packages that vision uses where they are needed, and not before."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional(name: str) -> Any:
    """A module of a package that may not be installed, such as ``"PIL.Image"``."""
    try:
        return import_module(name)
    except ImportError as error:
        package = {"PIL": "Pillow", "numpy": "NumPy"}.get(name.split(".")[0], name)
        raise ImportError(
            f"facula.vision: {package} is needed here and is not installed. Install it with "
            "pip install facula[vision]."
        ) from error
