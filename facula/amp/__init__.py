# mypy: implicit-reexport
# ruff: noqa: F401, F403
"""Mixed precision: 16 bits where that is enough, and gradients kept from vanishing in them."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula._exports import public_names as _public_names
from facula.amp import autocast_mode, grad_scaler
from facula.amp.autocast_mode import *
from facula.amp.grad_scaler import *

if not _TYPE_CHECKING:
    __all__ = _public_names(globals(), "autocast_mode", "grad_scaler")
