"""Checkpoints in PyTorch's formats: read without running anything, written all or nothing."""

from facula.serialization._errors import CheckpointError
from facula.serialization._globals import get_unsafe_globals_in_checkpoint
from facula.serialization._load import load
from facula.serialization._locations import (
    default_restore_location,
    location_tag,
    register_package,
)
from facula.serialization._options import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from facula.serialization._safe_globals import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from facula.serialization._save import save

__all__ = [
    "CheckpointError",
    "LoadEndianness",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]
