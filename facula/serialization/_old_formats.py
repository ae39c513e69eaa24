"""PyTorch's formats before the zip archive: pickles one after another, and the tar file.

A stacked file (until PyTorch 1.5): pickles of a magic number, a version, the machine's properties,
the object and the keys of its storages, then for each key the number of elements and their bytes.
A tar file (until 0.1.10): ``storages``, ``tensors`` and ``pickle``, each a few pickles among
binary numbers; the object names its tensors by number. Neither has checksums.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from facula import _core
from facula._core import Tensor, UntypedStorage
from facula._legacy import StorageType
from facula.serialization._errors import CheckpointError, shown
from facula.serialization._locations import Locations
from facula.serialization._source import Budget
from facula.serialization._types import rebuild_view
from facula.serialization._unpickle import Unpickle
from facula.storage import TypedStorage, _bytes_of, _swap_bytes

MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = b"\x80"  # the first byte of a pickle of protocol 2 and later
VERSION = 1001


def _text(value: Any) -> Any:
    """Strings of Python 2 may be bytes."""
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value


def _int64(data: bytes, at: int) -> int:
    if at + 8 > len(data):
        raise CheckpointError(f"load: the file is cut short at byte {at}", at)
    (value,) = struct.unpack_from("<q", data, at)
    return int(value)


def _fill(storage: UntypedStorage, data: bytes, at: int) -> int:
    """Copy the bytes of a storage out of the file; where they end."""
    nbytes = storage.nbytes()
    if nbytes > len(data) - at:
        raise CheckpointError(f"load: the file is cut short: a storage at byte {at}", at)
    _bytes_of(storage)[:] = memoryview(data)[at : at + nbytes]
    return at + nbytes


def _nbytes(kind: Any, numel: Any, room: int) -> int:
    """The bytes of a storage, if it can be in a file that has ``room`` bytes left."""
    is_storage = isinstance(kind, StorageType) or kind is UntypedStorage
    if not is_storage or type(numel) is not int or numel < 0:
        raise CheckpointError(
            f"no storage: {shown(kind)}, with {shown(numel)} elements", found=numel
        )
    nbytes = numel * _dtype_of(kind).itemsize
    if nbytes > room:
        raise CheckpointError(
            f"a storage of {numel} elements is announced, and the file has {room} bytes",
            found=numel,
        )
    return nbytes


def _dtype_of(kind: Any) -> _core.dtype:
    return kind.dtype if isinstance(kind, StorageType) else _core.uint8


class _Announced(NamedTuple):
    """A storage that the object has named, and whose bytes come later in the file."""

    memory: UntypedStorage  # where the bytes are read to
    placed: UntypedStorage  # what tensors look at: the same, or on another device
    dtype: _core.dtype


class _Storages:
    """The storages of a stacked file, by the persistent ids that the object has for them."""

    def __init__(self, locations: Locations, room: int) -> None:
        self._locations = locations
        self._room = room
        self.by_key: dict[str, _Announced] = {}
        self._views: dict[str, UntypedStorage] = {}

    def __call__(self, saved: Any) -> Any:
        kind = _text(saved[0]) if type(saved) is tuple and saved else None
        if type(kind) is str and (kind, len(saved)) == ("module", 4):
            return saved[1]  # a class; its source code, which follows, is not needed
        if type(kind) is not str or (kind, len(saved)) != ("storage", 6):
            raise CheckpointError(f"a persistent id, {shown(kind)}, is not that of a storage")
        _, storage_type, key, location, numel, view = saved
        key, location = _text(key), _text(location)
        if type(key) is not str or type(location) is not str:
            raise CheckpointError(f"a storage is named by {shown(key)} at {shown(location)}")
        # The bytes come after the object in this format, so storages are made on its word. What
        # they announce together must fit into the rest of the file.
        nbytes = _nbytes(storage_type, numel, self._room)
        dtype = _dtype_of(storage_type)
        if key not in self.by_key:
            self._room -= nbytes
            memory = UntypedStorage(nbytes)
            placed = self._locations.place(memory, location)
            self.by_key[key] = _Announced(memory, placed, dtype)
        storage = self.by_key[key].placed
        if view is not None:
            storage = self._view(storage, dtype, view)
        if storage_type is UntypedStorage:
            return storage
        return TypedStorage(wrap_storage=storage, dtype=dtype)

    def _view(self, root: UntypedStorage, dtype: _core.dtype, view: Any) -> UntypedStorage:
        if type(view) is not tuple or len(view) != 3:
            raise CheckpointError(f"no view of a storage: {shown(view)}")
        key, offset, numel = _text(view[0]), view[1], view[2]
        is_view = type(key) is str and type(offset) is int and type(numel) is int
        size = dtype.itemsize
        if not is_view or offset < 0 or numel < 0 or (offset + numel) * size > root.nbytes():
            raise CheckpointError(f"a view, {shown(view)}, of a storage of {root.nbytes()} bytes")
        if key not in self._views:
            self._views[key] = root._slice(offset * size, (offset + numel) * size)
        return self._views[key]


def load_stacked(
    data: bytes, unpickle: Unpickle, locations: Locations, budget: Budget
) -> tuple[Any, int]:
    """The object of a file of pickles one after another, and where the file ends."""
    try:
        magic, at = unpickle.plain(data, 0, budget, "the magic number")
    except CheckpointError:
        if data.startswith(_PROTOCOL):
            raise
        start = bytes(data[:40])
        raise CheckpointError(
            f"load: the file is no checkpoint: it begins with {start!r}. Was it downloaded whole, "
            "and not a page of HTML or a pointer to large-file storage?",
            0,
            start,
        ) from None
    if type(magic) is not int or magic != MAGIC:
        raise CheckpointError("load: the file is no checkpoint: it has no magic number", 0, magic)
    version, at = unpickle.plain(data, at, budget, "the version")
    if type(version) is not int or version != VERSION:
        raise CheckpointError(f"load: the version is {shown(version)}, not {VERSION}", at, version)
    machine, at = unpickle.plain(data, at, budget, "the machine's properties")
    is_swapped = isinstance(machine, dict) and machine.get("little_endian") is False

    storages = _Storages(locations, len(data) - at)
    result, at = unpickle(data, at, storages, budget, "the object", has_bytes=False)
    keys, at = unpickle.plain(data, at, budget, "the keys of the storages")
    keys = [_text(key) for key in keys] if isinstance(keys, list) else [None]
    if not all(type(key) is str for key in keys) or sorted(keys) != sorted(storages.by_key):
        raise CheckpointError("load: the keys of the storages are not those of the object", at)
    for key in keys:
        storage, placed, dtype = storages.by_key[key]
        at = _read_storage(data, at, storage, dtype, is_swapped)
        if placed.data_ptr() != storage.data_ptr():  # it was put on its device when it was empty
            placed.copy_(storage)
    return result, at


def _read_storage(
    data: bytes, at: int, storage: UntypedStorage, dtype: _core.dtype, is_swapped: bool
) -> int:
    numel, expected = _int64(data, at), storage.nbytes() // dtype.itemsize
    if numel != expected:
        raise CheckpointError(
            f"load: the storage at byte {at} has {numel} elements, and {expected} were announced",
            at,
            numel,
        )
    end = _fill(storage, data, at + 8)
    if is_swapped:
        _swap_bytes(storage, dtype)
    return end


def load_tar(data: bytes, unpickle: Unpickle, locations: Locations, budget: Budget) -> Any:
    """The object of a tar file."""
    members = _tar_members(data)
    missing = {"storages", "tensors", "pickle"} - set(members)
    if missing:
        raise CheckpointError(f"load: the tar file has no {' and no '.join(sorted(missing))}")
    storages = _tar_storages(members["storages"], unpickle, locations, budget)
    objects: dict[int, Any] = dict(storages)
    objects.update(_tar_tensors(members["tensors"], storages, unpickle, budget))

    def find(saved: Any) -> Any:
        if type(saved) is tuple and len(saved) == 3:
            return saved[0]  # a class; its source code, which follows, is not needed
        key = saved if type(saved) is int else _text(saved)
        if type(key) is str and key.isdecimal() and len(key) < 32:
            key = int(key)
        if type(key) is not int or key not in objects:
            raise CheckpointError(f"there is no tensor {shown(saved)}", found=saved)
        return objects[key]

    return unpickle(members["pickle"], 0, find, budget, "pickle")[0]


def _tar_members(data: bytes) -> dict[str, bytes]:
    """The regular files of a tar file, each by its name."""
    # Not by the tarfile module: it follows links, and knows more than these files ever had.
    members: dict[str, bytes] = {}
    at = 0
    while at + 512 <= len(data) and data[at] != 0:
        header = data[at : at + 512]
        # The checksum counts its own field as if it were blank.
        total = sum(header[:148]) + sum(header[156:]) + 8 * ord(" ")
        try:
            name = header[:100].rstrip(b"\0").decode("ascii")
            size = int(header[124:136].rstrip(b"\0 ") or b"0", 8)
            checksum = int(header[148:156].rstrip(b"\0 "), 8)
        except ValueError:
            raise CheckpointError(f"load: no header of a tar file at byte {at}", at) from None
        if checksum != total or size < 0 or size > len(data) - at - 512:
            raise CheckpointError(f"load: a damaged header of a tar file at byte {at}", at)
        if header[156:157] in (b"0", b"\0"):
            if name in members:
                raise CheckpointError(f"load: the tar file has two files {name!r}", at, name)
            members[name] = data[at + 512 : at + 512 + size]
        at += 512 + -(-size // 512) * 512
    return members


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise CheckpointError(f"load: {shown(value)} is no number of items", found=value)
    return value


def _tar_storages(
    data: bytes, unpickle: Unpickle, locations: Locations, budget: Budget
) -> dict[int, TypedStorage]:
    count, at = unpickle.plain(data, 0, budget, "storages")
    storages: dict[int, TypedStorage] = {}
    for _ in range(_count(count)):
        saved, at = unpickle.plain(data, at, budget, "storages")
        if type(saved) is not tuple or len(saved) != 3 or type(saved[0]) is not int:
            raise CheckpointError(f"load: no storage: {shown(saved)}", at, saved)
        key, location, kind = saved
        nbytes = _nbytes(kind, _int64(data, at), len(data) - at)
        budget.spend(nbytes)
        storage = UntypedStorage(nbytes)
        at = _fill(storage, data, at + 8)
        placed = locations.place(storage, str(_text(location)))
        storages[key] = TypedStorage(wrap_storage=placed, dtype=_dtype_of(kind))
    views, at = unpickle.plain(data, at, budget, "storages")
    for view in views if isinstance(views, list) else [views]:
        is_view = type(view) is tuple and len(view) == 4 and all(type(v) is int for v in view)
        root = storages.get(view[1]) if is_view else None
        if root is None or view[2] < 0 or view[3] < 0 or view[2] + view[3] > len(root):
            raise CheckpointError(f"load: no view of a storage: {shown(view)}", at, view)
        size = root.dtype.itemsize
        part = root.untyped()._slice(view[2] * size, (view[2] + view[3]) * size)
        storages[view[0]] = TypedStorage(wrap_storage=part, dtype=root.dtype)
    return storages


def _tar_tensors(
    data: bytes, storages: dict[int, TypedStorage], unpickle: Unpickle, budget: Budget
) -> dict[int, Tensor]:
    count, at = unpickle.plain(data, 0, budget, "tensors")
    tensors: dict[int, Tensor] = {}
    for _ in range(_count(count)):
        saved, at = unpickle.plain(data, at, budget, "tensors")
        is_tensor = type(saved) is tuple and len(saved) == 3
        is_tensor = is_tensor and all(type(key) is int for key in saved[:2])
        if not is_tensor or saved[1] not in storages:
            raise CheckpointError(f"load: no tensor: {shown(saved)}", at, saved)
        n_dims = _int64(data, at) & 0xFFFFFFFF  # the upper half was never set
        if n_dims > 64 or at + 16 * n_dims + 16 > len(data):
            raise CheckpointError(f"load: a tensor of {n_dims} dimensions", at, n_dims)
        numbers = struct.unpack_from(f"<{2 * n_dims + 1}q", data, at + 8)
        at += 16 * n_dims + 16
        geometry = numbers[-1], numbers[:n_dims], numbers[n_dims:-1]
        tensors[saved[0]] = rebuild_view((storages[saved[1]], *geometry), budget)
    return tensors
