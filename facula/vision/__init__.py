"""torchvision's twin: images, their transforms, datasets, models and operations.

Pillow is needed to read and write images: ``pip install facula[vision]``.
"""

from importlib import import_module
from types import ModuleType

from facula.version import __version__ as __version__

_MODULES = ["datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils"]
__all__ = [
    *_MODULES,
    "disable_beta_transforms_warning",
    "get_image_backend",
    "set_image_backend",
]


def __getattr__(name: str) -> ModuleType:
    # Each module is imported when it is first asked for.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def get_image_backend() -> str:
    """The package that images are read with: Pillow."""
    return "PIL"


def set_image_backend(backend: str) -> None:
    """Chooses the package that images are read with; there is one, ``"PIL"``."""
    if backend != "PIL":
        raise ValueError(f"set_image_backend: expected 'PIL', got {backend!r}.")


def disable_beta_transforms_warning() -> None:
    """Does nothing: no transform here warns that it is new. Scripts for torchvision call it."""
