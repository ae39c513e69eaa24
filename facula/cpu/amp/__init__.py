# mypy: implicit-reexport
# ruff: noqa: F401, F403
"""The older names of mixed precision on CPUs; :mod:`facula.amp` has those for every device."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula._exports import public_names as _public_names
from facula.cpu.amp import autocast_mode, grad_scaler
from facula.cpu.amp.autocast_mode import *
from facula.cpu.amp.grad_scaler import *

if not _TYPE_CHECKING:
    __all__ = _public_names(globals(), "autocast_mode", "grad_scaler")
