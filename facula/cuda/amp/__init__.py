# mypy: implicit-reexport
# ruff: noqa: F401, F403
"""The older names of mixed precision on GPUs; :mod:`facula.amp` has those for every device."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula._exports import public_names as _public_names
from facula.cuda.amp import autocast_mode, common, grad_scaler
from facula.cuda.amp.autocast_mode import *
from facula.cuda.amp.common import *
from facula.cuda.amp.grad_scaler import *

if not _TYPE_CHECKING:
    __all__ = _public_names(globals(), "autocast_mode", "common", "grad_scaler")
