# ruff: noqa: F403
"""NVIDIA GPUs: devices, streams, events and memory.

Nothing of CUDA is opened before the first use of a function here or of a tensor on ``"cuda"``.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula._exports import public_names as _public_names
from facula.cuda._devices import *
from facula.cuda.memory import *
from facula.cuda.random import *
from facula.cuda.streams import *

if not _TYPE_CHECKING:
    __all__ = _public_names(globals())
