# mypy: implicit-reexport
# ruff: noqa: F401, F403
"""Building blocks of networks."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula.nn import (
    attention,
    functional,
    grad,
    init,
    modules,
    parallel,
    parameter,
    quantized,
    utils,
)
from facula.nn.modules import *
from facula.nn.modules.utils import factory_kwargs
from facula.nn.parallel import DataParallel
from facula.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

# Whatever is imported here is public. mypy reads no computed list; without one it agrees.
if not _TYPE_CHECKING:
    __all__ = [name for name in globals() if not name.startswith("_")]
