"""Checkpoints in PyTorch's formats: read without running anything, written all or nothing."""

from facula.serialization._errors import CheckpointError
from facula.serialization._load import load
from facula.serialization._safe_globals import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from facula.serialization._save import save

__all__ = [
    "CheckpointError",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]
