# ruff: noqa: F403
"""Checkpoints in PyTorch's formats: read without running anything, written all or nothing."""

import pickle as pickle  # packages take the module that pickles from here
from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula._exports import public_names as _public_names
from facula.serialization._errors import *
from facula.serialization._load import *
from facula.serialization._locations import *
from facula.serialization._older_helpers import *
from facula.serialization._options import *
from facula.serialization._safe_globals import *
from facula.serialization._save import *
from facula.serialization._torch_names import get_layout as _get_layout  # noqa: F401

if not _TYPE_CHECKING:
    __all__ = _public_names(globals())
