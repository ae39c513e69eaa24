"""Tools beside the tensors: data, checkpointing, hooks, DLPack, logs, measurements."""

from importlib import import_module
from types import ModuleType

__all__ = [
    "benchmark",
    "checkpoint",
    "data",
    "dlpack",
    "flop_counter",
    "hooks",
    "model_zoo",
    "serialization",
    "tensorboard",
]


def __getattr__(name: str) -> ModuleType:
    # Each module is imported when it is first asked for.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
