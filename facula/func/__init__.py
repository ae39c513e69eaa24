# mypy: implicit-reexport
# ruff: noqa: F403
"""Transforms of functions: derivatives and batching."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula.func._derivatives import *
from facula.func._functional_call import *
from facula.func._rearrange import *
from facula.func._vmap import *

# Whatever is imported here is public. mypy reads no computed list; without one it agrees.
if not _TYPE_CHECKING:
    __all__ = [name for name in globals() if not name.startswith("_")]
