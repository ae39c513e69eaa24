# mypy: implicit-reexport
"""Building blocks of networks."""

from typing import TYPE_CHECKING

from facula.nn import attention, functional, init, modules, parameter, utils
from facula.nn.modules import *  # noqa: F403
from facula.nn.modules.utils import factory_kwargs
from facula.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

if not TYPE_CHECKING:  # mypy reads no computed list; without one, all names are public to it
    __all__ = [
        *modules.__all__,
        "Buffer",
        "Parameter",
        "UninitializedBuffer",
        "UninitializedParameter",
        "attention",
        "factory_kwargs",
        "functional",
        "init",
        "modules",
        "parameter",
        "utils",
    ]
