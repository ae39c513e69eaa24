"""The zip archive that PyTorch writes: records stored as they are, each at a multiple of 64."""

from __future__ import annotations

import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from facula import _core

ALIGNMENT = 64
MAX32 = 0xFFFFFFFF
FLAGS = 0x0808  # sizes follow the data; names are UTF-8
PADDING_ID = b"FB"

_LARGE = 1 << 20  # bytes


class ZipWriter:
    """Writes an archive from the first byte to the last, without going back.

    Args:
        write: function that takes the next bytes of the archive.
        root: the folder that all records are in.
    """

    def __init__(self, write: Callable[[Any], Any], root: str) -> None:
        self._write_bytes = write
        self._root = root
        self._offset = 0
        self._directory: list[bytes] = []
        self._pool = ThreadPoolExecutor(1)
        self.checksums: list[tuple[str, int]] = []

    def _write(self, data: Any) -> None:
        self._write_bytes(data)
        self._offset += len(data)

    def record(self, name: str, data: bytes | memoryview, has_crc: bool = True) -> None:
        """Add a record, a memoryview being one of bytes; a checksum of 0 means that it has none."""
        start, size = self._offset, len(data)
        path = f"{self._root}/{name}".encode()
        is_large, is_far = size >= MAX32, start >= MAX32
        numbers = struct.pack("<QQ", size, size) if is_large else b""
        numbers += struct.pack("<Q", start) if is_far else b""
        zip64 = struct.pack("<HH", 1, len(numbers)) + numbers if numbers else b""
        header_size = 30 + len(path) + len(zip64) + 4
        padding = -(start + header_size) % ALIGNMENT
        extra = zip64 + PADDING_ID + struct.pack("<H", padding) + b"Z" * padding
        # Nothing follows what has no bytes: the header says it all.
        flags = FLAGS if size else FLAGS & ~8
        lengths = len(path), len(extra)
        header = struct.pack("<4s5H3I2H", b"PK\3\4", 0, flags, 0, 0, 0, 0, 0, 0, *lengths)
        self._write(header + path + extra)

        # The sum of a large record is taken while it is written: either takes as long.
        is_small = size < _LARGE or not has_crc
        large_crc = None if is_small else self._pool.submit(_core._crc32, data)
        self._write(data)
        crc = large_crc.result() if large_crc else _core._crc32(data) if has_crc else 0
        if size:
            kind = "<4sIQQ" if numbers else "<4sIII"
            self._write(struct.pack(kind, b"PK\7\10", crc, size, size))
        self.checksums.append((name, crc))

        size32, start32 = min(size, MAX32), min(start, MAX32)
        self._directory.append(
            struct.pack("<4s6H3I", b"PK\1\2", 0, 0, flags, 0, 0, 0, crc, size32, size32)
            + struct.pack("<5H2I", len(path), len(zip64), 0, 0, 0, 0, start32)
            + path
            + zip64
        )

    def finish(self) -> None:
        """Write the directory: without it there is no archive."""
        start, count = self._offset, len(self._directory)
        directory = b"".join(self._directory)
        size = len(directory)
        sizes = struct.pack("<4sQ2H2I", b"PK\6\6", 44, 0x031E, 45, 0, 0)
        end64 = sizes + struct.pack("<4Q", count, count, size, start)
        locator = struct.pack("<4sIQI", b"PK\6\7", 0, start + size, 1)
        count16 = min(count, 0xFFFF)
        end = struct.pack("<4s4H2I", b"PK\5\6", 0, 0, count16, count16, size, min(start, MAX32))
        self._write(directory + end64 + locator + end + b"\0\0")
        self._pool.shutdown()
