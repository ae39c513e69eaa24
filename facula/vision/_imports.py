"""Packages that vision uses where they are needed, and not before."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional(name: str) -> Any:
    """A module of a package that may not be installed, such as ``"PIL.Image"``."""
    try:
        return import_module(name)
    except ImportError as error:
        top = name.partition(".")[0]
        package = {"PIL": "Pillow", "numpy": "NumPy", "scipy": "SciPy"}.get(top, top)
        install = "facula[vision]" if top in ("PIL", "numpy") else top
        raise ImportError(
            f"facula.vision: {package} is needed here and is not installed. Install it with "
            f"pip install {install}."
        ) from error
