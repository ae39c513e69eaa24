# mypy: implicit-reexport
# ruff: noqa: F401, F403
"""Automatic differentiation: gradients, custom functions, and the switches of recording."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from facula.autograd import forward_ad, function, functional, grad_mode, graph
from facula.autograd._backward import *
from facula.autograd._backward import _is_checkpoint_valid
from facula.autograd.anomaly_mode import *
from facula.autograd.function import Function, NestedIOFunction
from facula.autograd.grad_mode import *
from facula.autograd.gradcheck import *
from facula.autograd.variable import Variable

if _TYPE_CHECKING:
    from facula.autograd import profiler, profiler_util

# What is imported here, modules by name, is public. mypy reads no computed list; without one it
# agrees.
if not _TYPE_CHECKING:
    __all__ = [name for name, value in globals().items() if name[0] != "_" and callable(value)]
    __all__ += ["forward_ad", "function", "functional", "grad_mode", "graph"]
    __all__ += ["profiler", "profiler_util"]


def __getattr__(name: str) -> _Any:
    # Imported when they are first asked for.
    if name not in ("profiler", "profiler_util"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"{__name__}.{name}")
