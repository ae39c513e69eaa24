"""Settings of save and load for a whole program, and for a ``with`` block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from mmap import MAP_PRIVATE, MAP_SHARED
from types import TracebackType

__all__ = [
    "LoadEndianness",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]


class LoadEndianness(Enum):
    """The order of the bytes in files that do not say which they have."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


@dataclass
class SaveOptions:
    """What :func:`facula.save` does unless told otherwise.

    Args:
        compute_crc32: whether records have checksums; without them damage goes unseen.
    """

    compute_crc32: bool = True


@dataclass
class LoadOptions:
    """What :func:`facula.load` does unless told otherwise.

    Args:
        mmap: whether files are mapped.
        endianness: the byte order of files that do not say which they have.
        mmap_flags: ``mmap.MAP_PRIVATE``, or ``mmap.MAP_SHARED`` to write changes of mapped tensors
            to the file.
    """

    mmap: bool = False
    endianness: LoadEndianness | None = None
    mmap_flags: int = MAP_PRIVATE


@dataclass
class Config:
    """The settings of save and load, as attributes."""

    save: SaveOptions = field(default_factory=SaveOptions)
    load: LoadOptions = field(default_factory=LoadOptions)


config = Config()
is_data_skipped = False


def get_crc32_options() -> bool:
    """Whether :func:`facula.save` writes checksums."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Choose whether :func:`facula.save` writes checksums; without them damage goes unseen.

    Example:
        >>> facula.serialization.set_crc32_options(True)
    """
    config.save.compute_crc32 = compute_crc32


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order of files that do not say which they have; None for the machine's."""
    return config.load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Choose the byte order of files that do not say which they have.

    Example:
        >>> from facula.serialization import LoadEndianness, set_default_load_endianness
        >>> set_default_load_endianness(LoadEndianness.LITTLE)
        >>> set_default_load_endianness(None)
    """
    if not isinstance(endianness, (LoadEndianness, type(None))):
        raise TypeError(
            "set_default_load_endianness: expected a LoadEndianness, got "
            f"{type(endianness).__name__}."
        )
    config.load.endianness = endianness


def get_default_mmap_options() -> int:
    """How ``facula.load(..., mmap=True)`` maps: ``mmap.MAP_PRIVATE`` or ``mmap.MAP_SHARED``."""
    return config.load.mmap_flags


class set_default_mmap_options:
    """Choose how files are mapped, from now on or in a ``with`` block.

    Args:
        flags: ``mmap.MAP_PRIVATE`` keeps changes in memory, ``mmap.MAP_SHARED`` writes them to the
            file.

    Example:
        >>> import mmap
        >>> with facula.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        ...     facula.serialization.get_default_mmap_options() == mmap.MAP_SHARED
        True
    """

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "set_default_mmap_options: expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, got "
                f"{flags!r}."
            )
        self._before = config.load.mmap_flags
        config.load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        config.load.mmap_flags = self._before


@contextmanager
def skip_data() -> Iterator[None]:
    """Write and read checkpoints without the bytes of their tensors, which are zeros then.

    A file that was written so has room for the bytes, and no checksums of them.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> with facula.serialization.skip_data():
        ...     facula.save(facula.ones(2), file)
        >>> _ = file.seek(0)
        >>> facula.load(file)
        tensor([0., 0.])
    """
    global is_data_skipped
    before, is_data_skipped = is_data_skipped, True
    try:
        yield
    finally:
        is_data_skipped = before
