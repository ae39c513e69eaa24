# ruff: noqa: F403
"""Modules with ``forward`` and ``backward`` methods, as Lua's Torch has them."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula._exports import public_names as _public_names
from facula.legacy.nn._containers import *
from facula.legacy.nn._criterions import *
from facula.legacy.nn._layers import *
from facula.legacy.nn._module import *

if not _TYPE_CHECKING:
    __all__ = _public_names(globals())
