"""Where a checkpoint is read from: bytes by their offset, and how many may be spent on it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import IO, Any

from facula import _core
from facula.serialization._errors import CheckpointError

# Memory that any file may cost beyond its own size.
_ALLOWANCE = 40 << 20
_CHUNK = 1 << 20  # bytes that are read and summed up at once


class Budget:
    """The memory that a file may still take: a small file must not fill the machine.

    Args:
        limit: the bytes to spend; each object counts with about what it takes in memory.
    """

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit

    @classmethod
    def for_file(cls, size: int, memory_limit: int | None) -> Budget:
        """The budget of a file of ``size`` bytes unless the caller says another."""
        return cls(size + _ALLOWANCE if memory_limit is None else memory_limit)

    def spend(self, nbytes: int) -> None:
        """Count ``nbytes`` more, or refuse."""
        self.left -= nbytes
        if self.left < 0:
            raise CheckpointError(
                f"its objects take more than the {self.limit} bytes of memory that a file of this "
                "size may. Pass memory_limit=<bytes> to load if they are really meant to."
            )


@contextlib.contextmanager
def open_file(f: Any, mode: str) -> Iterator[Any]:
    """The file at a path, or the file-like object that it is already."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, mode, buffering=0) as file:
            yield file
    elif all(hasattr(f, name) for name in ("read", "seek", "tell")):
        yield f
    else:
        raise AttributeError(
            f"load: expected a path or a file-like object with read, seek and tell, got "
            f"{type(f).__name__}. Put the bytes of another object into io.BytesIO."
        )


class FileSource:
    """The bytes of an open file, read without moving its position."""

    def __init__(self, file: IO[bytes]) -> None:
        self._fd = file.fileno()
        self.size = os.fstat(self._fd).st_size

    def readinto(self, offset: int, view: memoryview) -> int:
        """Fill ``view`` from ``offset`` on and return the CRC-32 of its bytes."""
        # In the core: each piece is summed up while it is still in the cache.
        crc: int | None = _core._read_checked(self._fd, offset, view)
        if crc is None:
            raise _cut_short(offset)
        return crc

    def read(self, offset: int, nbytes: int) -> bytes:
        """``nbytes`` bytes from ``offset`` on."""
        _check_range(self.size, offset, nbytes)
        return _join(lambda at, n: os.pread(self._fd, n, at), offset, nbytes)


class StreamSource:
    """The bytes of a file-like object from its position on."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._start = file.tell()
        file.seek(0, os.SEEK_END)
        self.size = file.tell() - self._start
        file.seek(self._start)

    def seek(self, offset: int) -> None:
        """Put the object's position at ``offset`` of the checkpoint."""
        self._file.seek(self._start + offset)

    def _read_some(self, offset: int, nbytes: int) -> bytes:
        self.seek(offset)
        data: bytes = self._file.read(nbytes)
        return data

    def readinto(self, offset: int, view: memoryview) -> int:
        """Fill ``view`` from ``offset`` on and return the CRC-32 of its bytes."""
        crc = 0
        for i in range(0, len(view), _CHUNK):
            chunk = self.read(offset + i, min(_CHUNK, len(view) - i))
            view[i : i + len(chunk)] = chunk
            crc = _core._crc32(chunk, crc)
        return crc

    def read(self, offset: int, nbytes: int) -> bytes:
        """``nbytes`` bytes from ``offset`` on."""
        _check_range(self.size, offset, nbytes)
        return _join(self._read_some, offset, nbytes)


Source = FileSource | StreamSource


def _check_range(size: int, offset: int, nbytes: int) -> None:
    if offset < 0 or nbytes < 0 or nbytes > size - offset:
        raise CheckpointError(
            f"load: {nbytes} bytes are announced at byte {offset}, but the file has {size}", offset
        )


def _cut_short(offset: int) -> CheckpointError:
    return CheckpointError(f"load: the file was cut short at byte {offset} or after it", offset)


def _join(read: Callable[[int, int], bytes], offset: int, nbytes: int) -> bytes:
    """The answers of ``read`` until there are ``nbytes`` bytes: usually one."""
    parts = []
    while nbytes:
        part = read(offset, nbytes)
        if not part:
            raise _cut_short(offset)
        parts.append(part)
        offset, nbytes = offset + len(part), nbytes - len(part)
    return b"".join(parts)
