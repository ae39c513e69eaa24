# ruff: noqa: F403
"""NVIDIA GPUs: devices, streams, events and memory.

Nothing of CUDA is opened before the first use of a function here or of a tensor on ``"cuda"``.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from facula import _core
from facula._exports import public_names as _public_names
from facula.cuda._devices import *
from facula.cuda._legacy import *
from facula.cuda._nvml import *
from facula.cuda._runtime import *
from facula.cuda.graphs import *
from facula.cuda.memory import *
from facula.cuda.random import *
from facula.cuda.streams import *

if _TYPE_CHECKING:
    from facula.cuda import amp as amp
    from facula.cuda import comm as comm
    from facula.cuda import nvtx as nvtx
    from facula.cuda import profiler as profiler
else:
    __all__ = _public_names(globals(), "amp", "comm", "nvtx", "profiler")


def __getattr__(name: str) -> _Any:
    if name == "default_generators":
        return tuple(map(_core._gpu_generator, range(_core._cuda_device_count())))
    if name == "_initialized":  # asked for by programs that keep the state of random streams
        return is_initialized()  # noqa: F405
    # Imported when they are first asked for.
    if name not in ("amp", "comm", "nvtx", "profiler"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"facula.cuda.{name}")
