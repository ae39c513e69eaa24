# ruff: noqa: F403
"""Checkpoints in PyTorch's formats: read without running anything, written all or nothing."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula._exports import public_names as _public_names
from facula.serialization._errors import *
from facula.serialization._load import *
from facula.serialization._locations import *
from facula.serialization._options import *
from facula.serialization._safe_globals import *
from facula.serialization._save import *

if not _TYPE_CHECKING:
    __all__ = _public_names(globals())
