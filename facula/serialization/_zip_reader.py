"""A reader of PyTorch's zip archives that takes no byte on trust.

Every byte of the archive belongs to exactly one header, name, padding or record, and each is
compared with what it must be: a flipped bit is found wherever it is. Nothing is ever unpacked to
disk, and compressed records, which PyTorch does not write, are refused: what a record takes in
memory is what it takes in the file.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from facula.serialization._errors import CheckpointError
from facula.serialization._source import Budget, Source
from facula.serialization._zip_writer import MAX32, PADDING_ID

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQ2H2I4Q")

# PyTorch's entries say 0; these are of common zip tools, and none is one bit away from 0.
_OTHER_WRITERS = {10, 20, 30, 31, 45, 46, 51, 63}
_KNOWN_EXTRAS = {0x5455, 0x7875, 0x000A}  # times and owners, from zip tools
_RECORD_COST = 400  # bytes of memory of an entry in the list below, name included


class Record(NamedTuple):
    """Where the bytes of a record are."""

    offset: int
    size: int
    crc: int


class _Entry(NamedTuple):
    path: bytes
    header: tuple[int, ...]  # version, flags, method, time, date: as in the local header
    crc: int
    size: int
    start: int


class ZipReader:
    """The records of an archive by their name below its root folder."""

    def __init__(self, source: Source, budget: Budget) -> None:
        self.source = source
        entries, directory = _read_directory(source, budget)
        # In the order of the file each must begin where the one before it ends: nothing overlaps,
        # and nothing is hidden between.
        entries.sort(key=lambda entry: entry.start)
        self.records: dict[str, Record] = {}
        self.root = ""
        position = 0
        for entry in entries:
            name = self._name_of(entry)
            position = self._add(name, entry, position, directory)
        if position != directory:
            raise _damaged(position, f"{directory - position} bytes belong to no record")

    def _name_of(self, entry: _Entry) -> str:
        try:
            path = entry.path.decode()
        except UnicodeDecodeError:
            raise _damaged(entry.start, f"the name {entry.path!r} is not UTF-8") from None
        root, slash, name = path.partition("/")
        parts = path.split("/")
        if not slash or "\\" in path or any(part in ("", ".", "..") for part in parts):
            raise _damaged(entry.start, f"{path!r} is no name of a record", path)
        if self.root and root != self.root:
            raise _damaged(entry.start, f"{path!r} is not in the folder {self.root!r}", path)
        if name in self.records:
            raise _damaged(entry.start, f"there are two records named {path!r}", path)
        self.root = root
        return name

    def _add(self, name: str, entry: _Entry, position: int, directory: int) -> int:
        """Check a record's headers, list it, and return where it ends."""
        if entry.start != position:
            raise _damaged(entry.start, f"the record {name!r} does not begin at {position}")
        # One read for header, name and padding, which PyTorch's alignment keeps below 192 bytes.
        guess = self.source.read(position, min(192 + len(entry.path), directory - position))
        if len(guess) < _LOCAL.size:
            raise _damaged(position, f"the header of {name!r} is cut short")
        magic, *header, crc, packed, size, n_path, n_extra = _LOCAL.unpack_from(guess)
        data: int = position + _LOCAL.size + n_path + n_extra
        if magic != b"PK\3\4" or tuple(header) != entry.header:
            raise _damaged(position, f"the header of {name!r} is not the one in the directory")
        if data + entry.size > directory:
            raise _damaged(position, f"the record {name!r} reaches into the directory")
        if data - position > len(guess):
            guess = self.source.read(position, data - position)
        names_at = position + _LOCAL.size
        if guess[_LOCAL.size : names_at - position + n_path] != entry.path:
            raise _damaged(names_at, f"the name of {name!r} is not the one in the directory")
        zip64 = _check_extra(guess[names_at - position + n_path : data - position], names_at)
        follows = bool(entry.header[1] & 8)  # sizes and checksum come after the data, not before
        numbers = (0, 0, 0) if follows else (entry.crc, entry.size, entry.size)
        if (crc, packed, size) not in (numbers, (numbers[0], MAX32, MAX32)):
            raise _damaged(position, f"the sizes of {name!r} are not those in the directory")
        end = data + entry.size
        if follows:
            end = self._check_descriptor(name, entry, end, bool(zip64))
        self.records[name] = Record(data, entry.size, entry.crc)
        return end

    def _check_descriptor(self, name: str, entry: _Entry, at: int, is_64: bool) -> int:
        kind = struct.Struct("<4sIQQ" if is_64 else "<4sIII")
        found = kind.unpack(self.source.read(at, kind.size))
        if found != (b"PK\7\10", entry.crc, entry.size, entry.size):
            raise _damaged(at, f"the sizes after {name!r} are not those in the directory")
        return at + kind.size

    def read(self, name: str) -> bytes:
        """The bytes of a record, its checksum compared."""
        data = bytearray(self.find(name).size)
        self.readinto(name, memoryview(data))
        return bytes(data)

    def find(self, name: str) -> Record:
        """Where a record is."""
        if name not in self.records:
            raise CheckpointError(f"load: the archive has no record {name!r}", None, name)
        return self.records[name]

    def readinto(self, name: str, view: memoryview) -> None:
        """Fill ``view``, as long as the record, with its bytes, its checksum compared."""
        offset, size, expected = self.find(name)
        crc = self.source.readinto(offset, view[:size])
        # Writers that compute no checksums put 0 at both places where they are.
        if crc != expected != 0:
            raise CheckpointError(
                f"load: the record {name!r} is damaged: its checksum is {crc:08x}, and "
                f"{expected:08x} was written with it. Use an older copy of the file.",
                offset,
                crc,
            )


def _read_directory(source: Source, budget: Budget) -> tuple[list[_Entry], int]:
    """The entries of the directory at the end of the archive, and where it begins."""
    # At its exact place, not searched for: a comment could hold a second directory, and two readers
    # would then see two different archives.
    at = source.size - _END.size
    if at < 0:
        raise _damaged(0, f"it has only {source.size} bytes")
    magic, disk, disk_of_start, n_here, count, size, start, n_comment = _END.unpack(
        source.read(at, _END.size)
    )
    if magic != b"PK\5\6" or n_comment:
        raise _damaged(at, "it does not end as a zip archive does; is it cut short?", magic)
    if disk or disk_of_start or n_here != count:
        raise _damaged(at, "it is said to be one of several volumes")
    end = at
    locator = source.read(max(at - _LOCATOR.size, 0), min(_LOCATOR.size, at))
    if locator[:4] == b"PK\6\7" and len(locator) == _LOCATOR.size:
        count, size, start, end = _read_end64(source, locator, at, (count, size, start))
    if start + size != end:
        raise _damaged(at, f"the directory is said to be at bytes {start} to {start + size}")
    budget.spend(_RECORD_COST * count)
    directory = source.read(start, size)
    entries = []
    position = 0
    for _ in range(count):
        entry, position = _read_entry(directory, position, start)
        entries.append(entry)
    if position != size:
        raise _damaged(start + position, f"the directory has more than {count} entries")
    return entries, start


def _read_end64(
    source: Source, locator: bytes, at: int, small: tuple[int, int, int]
) -> tuple[int, int, int, int]:
    _, disk, end, n_disks = _LOCATOR.unpack(locator)
    if disk or n_disks != 1 or end != at - _LOCATOR.size - _END64.size:
        raise _damaged(at - _LOCATOR.size, "the end of the directory is not where it should be")
    magic, size, made_by, needed, disk, disk_of_start, n_here, *numbers = _END64.unpack(
        source.read(end, _END64.size)
    )
    is_known = (magic, size, needed) == (b"PK\6\6", 44, 45) and made_by in (0x031E, 45)
    if not is_known or disk or disk_of_start or n_here != numbers[0]:
        raise _damaged(end, "the end of the directory is not one that this reader knows")
    limits = 0xFFFF, MAX32, MAX32
    for given, number, limit in zip(small, numbers, limits, strict=True):
        if given != min(number, limit) and given != limit:
            raise _damaged(at, "the two ends of the directory do not agree")
    count, size, start = numbers
    return count, size, start, end


def _read_entry(directory: bytes, at: int, start: int) -> tuple[_Entry, int]:
    if len(directory) - at < _CENTRAL.size:
        raise _damaged(start + at, "the directory is cut short")
    magic, made_by, *header, crc, packed, size = _CENTRAL.unpack_from(directory, at)[:10]
    n_path, n_extra, n_comment, disk, inner, outer, to = _CENTRAL.unpack_from(directory, at)[10:]
    end = at + _CENTRAL.size + n_path + n_extra
    if magic != b"PK\1\2" or disk or n_comment or end > len(directory):
        raise _damaged(start + at, "the directory has something that is no entry", magic)
    is_plain = made_by == inner == outer == 0
    if not is_plain and made_by & 0xFF not in _OTHER_WRITERS:
        raise _damaged(start + at, "the entry is of an unknown writer", made_by)
    path = directory[at + _CENTRAL.size : end - n_extra]
    if header[2] != 0 or header[1] & ~0x0808:
        raise _damaged(
            start + at,
            f"{path!r} is compressed or encrypted, which PyTorch's checkpoints are not",
            header[2],
        )
    wanted = [value == MAX32 for value in (size, packed, to)]
    large = _check_extra(directory[end - n_extra : end], start + at)
    if len(large) != 8 * sum(wanted):
        raise _damaged(start + at, f"the sizes of {path!r} are not complete")
    numbers = iter(struct.unpack(f"<{sum(wanted)}Q", large))
    size, packed, to = (
        next(numbers) if is_large else value
        for value, is_large in zip((size, packed, to), wanted, strict=True)
    )
    if packed != size:
        raise _damaged(start + at, f"{path!r} has {size} bytes, stored as {packed}")
    return _Entry(path, tuple(header), crc, size, to), end


def _check_extra(extra: bytes, at: int) -> bytes:
    """The 64-bit sizes among the extra fields of a header, after a check of all of them."""
    zip64 = b""
    while extra:
        if len(extra) < 4:
            raise _damaged(at, "an extra field is cut short")
        kind, size = struct.unpack_from("<HH", extra)
        body, rest = extra[4 : 4 + size], extra[4 + size :]
        if len(body) != size:
            raise _damaged(at, "an extra field is cut short")
        if kind == 1 and not zip64:
            zip64 = body
        elif extra[:2] == PADDING_ID:
            if body.strip(b"Z"):
                raise _damaged(at, "the padding is not what PyTorch pads with")
        elif kind not in _KNOWN_EXTRAS:
            raise _damaged(at, f"the extra field {kind:#06x} is unknown", kind)
        extra = rest
    return zip64


def _damaged(offset: int, what: str, found: object = None) -> CheckpointError:
    return CheckpointError(
        f"load: the file is no checkpoint, or damaged. At byte {offset}: {what}.", offset, found
    )
