# mypy: implicit-reexport
# ruff: noqa: F401, F403
"""What runs, how long, with which memory: a profiler with schedules, tables and trace files."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula._exports import public_names as _public_names
from facula.autograd.profiler import record_function
from facula.autograd.profiler_util import DeviceType
from facula.profiler import profiler
from facula.profiler.profiler import *

if not _TYPE_CHECKING:
    __all__ = _public_names(globals(), "profiler")
