# ruff: noqa: F403
"""Measuring small pieces of code, and comparing them."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula._exports import public_names as _public_names
from facula.utils.benchmark._callgrind import *
from facula.utils.benchmark._compare import *
from facula.utils.benchmark._fuzzer import *
from facula.utils.benchmark._measurement import *
from facula.utils.benchmark._timer import *

if not _TYPE_CHECKING:
    __all__ = _public_names(globals())
