# ruff: noqa: F403
"""NVIDIA GPUs: devices, streams, events and memory.

Nothing of CUDA is opened before the first use of a function here or of a tensor on ``"cuda"``.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from facula._exports import public_names as _public_names
from facula.cuda._devices import *
from facula.cuda.memory import *
from facula.cuda.random import *
from facula.cuda.streams import *

if _TYPE_CHECKING:
    from facula.cuda import amp as amp
else:
    __all__ = _public_names(globals(), "amp")


def __getattr__(name: str) -> _Any:
    # Imported when it is first asked for: the new names are in facula.amp.
    if name != "amp":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module("facula.cuda.amp")
