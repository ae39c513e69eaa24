"""torchvision's twin: images, their transforms, datasets, models and operations.

Pillow is needed to read and write images: ``pip install facula[vision]``.
"""

from importlib import import_module
from types import ModuleType

__all__ = ["datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils"]


def __getattr__(name: str) -> ModuleType:
    # Each module is imported when it is first asked for.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
