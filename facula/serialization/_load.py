"""Reading checkpoints: which format a file has, and its storages."""

from __future__ import annotations

import mmap as _mmap
import os
import pickletools
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from facula import _core
from facula._core import UntypedStorage
from facula._legacy import StorageType
from facula.serialization import _options
from facula.serialization._errors import CallerError, CheckpointError, EmptyFileError, shown
from facula.serialization._locations import Locations, MapLocation
from facula.serialization._old_formats import load_stacked, load_tar
from facula.serialization._source import Budget, FileSource, Source, StreamSource, open_file
from facula.serialization._types import Types, full_name
from facula.serialization._unpickle import Unpickle
from facula.serialization._zip_reader import ZipReader
from facula.storage import TypedStorage, _bytes_of, _swap_bytes

__all__ = ["get_unsafe_globals_in_checkpoint", "load"]

_N_READERS = 4  # threads: the checksums take as long as the disk
_LIST_LIMIT = 1 << 30  # bytes of memory for the list of an archive's records, without their content


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: MapLocation | None = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    trusted: bool = False,
    memory_limit: int | None = None,
    encoding: str = "utf-8",
) -> Any:
    """Read a checkpoint that :func:`save` or PyTorch wrote, in any of PyTorch's formats.

    No code of the file is run: it may be anybody's. Objects are made of a fixed list of types
    (tensors, parameters, numbers, strings, containers, NumPy's arrays and numbers, and the modules
    of ``nn`` and ``vision``), to which :func:`facula.serialization.add_safe_globals` adds. Every
    checksum is compared. What is wrong with a file is said by one exception,
    :class:`facula.serialization.CheckpointError`.

    Args:
        f: a path, or a file-like object with ``read``, ``seek`` and ``tell``.
        map_location: the device to load to: a device, a dict from devices of the file to others,
            or a function of a storage and its place in the file. By default the device that the
            tensors were on.
        pickle_module: the module that unpickles in place of ``pickle``; to name one is to trust the
            file.
        weights_only: PyTorch's spelling of ``not trusted``; True by default.
        mmap: map the tensors from the file at the path ``f`` in place of reading them: pages are
            read when they are used, changes stay in memory, and tensor checksums are not compared.
        trusted: whether the file is as good as a program of yours: it is then unpickled with all
            that it asks for, such as modules of classes that are not Facula's.
        memory_limit: bytes that the objects may take; by default the size of the file and 40 MB.
        encoding: how byte strings in files of Python 2 are decoded; ``"bytes"`` keeps them.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> facula.save({"weight": facula.ones(2), "epoch": 3}, file)
        >>> _ = file.seek(0)
        >>> facula.load(file)
        {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    trusted = _is_trusted(trusted, weights_only, pickle_module)
    is_path = isinstance(f, (str, os.PathLike))
    if mmap and not is_path:
        raise ValueError("load: mmap=True needs a path: only files on disk can be mapped.")
    if mmap is None:
        mmap = is_path and _options.config.load.mmap
    is_written = mmap and _options.config.load.mmap_flags == _mmap.MAP_SHARED
    with open_file(f, "r+b" if is_written else "rb") as file:
        source = FileSource(file) if is_path else StreamSource(file)
        reader = _Reader(
            source,
            Budget.for_file(source.size, memory_limit),
            Locations(map_location),
            file if mmap else None,
            Unpickle(trusted, pickle_module, encoding),
        )
        try:
            return reader.load()
        except CallerError as error:
            # As the caller's function raised it: it is no word about the file.
            assert error.__cause__ is not None
            raise error.__cause__ from None


def _is_trusted(trusted: bool, weights_only: bool | None, pickle_module: Any) -> bool:
    if trusted and weights_only:
        raise ValueError("load: weights_only=True and trusted=True contradict each other.")
    if pickle_module is not None and weights_only:
        raise RuntimeError(
            "load: a pickle_module runs what the file asks for, so it excludes weights_only=True."
        )
    return trusted or weights_only is False or pickle_module is not None


def _default_byteorder() -> bytes:
    if _options.config.load.endianness in (None, _options.LoadEndianness.NATIVE):
        return sys.byteorder.encode()
    return _options.config.load.endianness.name.lower().encode()


class _Reader:
    def __init__(
        self,
        source: Source,
        budget: Budget,
        locations: Locations,
        mapped_file: IO[bytes] | None,
        unpickle: Unpickle,
    ) -> None:
        self._source = source
        self._budget = budget
        self._locations = locations
        self._mapped_file = mapped_file
        self._unpickle = unpickle

    def load(self) -> Any:
        """The object in the file."""
        source = self._source
        # By content: names of files end in .pt, .pth, .tar or .bin whatever their format is.
        start = source.read(0, min(source.size, 512))
        if start[:4] == b"PK\3\4":
            return self._load_zip(ZipReader(source, self._budget))
        if self._mapped_file:
            raise RuntimeError(
                "load: mmap=True needs PyTorch's zip format, which the file has not. Load it "
                "without mmap; save writes it anew in that format."
            )
        if not start:
            raise EmptyFileError("load: the file is empty", 0)
        data = source.read(0, source.size)
        if start[257:262] == b"ustar":
            return load_tar(data, self._unpickle, self._locations, self._budget)
        result, end = load_stacked(data, self._unpickle, self._locations, self._budget)
        if isinstance(source, StreamSource):  # several objects may follow each other in a stream
            source.seek(end)
        return result

    def _load_zip(self, archive: ZipReader) -> Any:
        if "constants.pkl" in archive.records:
            raise RuntimeError(
                "load: the file is a TorchScript program, which only PyTorch's torch.jit runs."
            )
        data = archive.read("data.pkl")
        has_order = "byteorder" in archive.records
        byteorder = archive.read("byteorder") if has_order else _default_byteorder()
        if byteorder not in (b"little", b"big"):
            raise CheckpointError(f"load: the byte order {shown(byteorder)} is unknown")
        # Before the object: a record that it does not name is compared with its checksum as well.
        storages = self._map(archive) if self._mapped_file else self._read(archive)
        load_storage = _StorageOfRecord(
            storages, self._locations, byteorder.decode() != sys.byteorder
        )
        where = f"{archive.root}/data.pkl"
        result, end = self._unpickle(data, 0, load_storage, self._budget, where)
        if end != len(data):
            raise CheckpointError(f"load: {where} goes on after its end at byte {end}", end)
        return result

    def _read(self, archive: ZipReader) -> dict[str, UntypedStorage]:
        """Every record, its checksum compared: those below data/ as storages."""

        def read(name: str) -> UntypedStorage:
            if _options.is_data_skipped:
                return _core.zeros(archive.records[name].size, dtype=_core.uint8).untyped_storage()
            storage = UntypedStorage(archive.records[name].size)
            archive.readinto(name, _bytes_of(storage))
            return storage

        names = [name for name in archive.records if name != "data.pkl"]
        self._budget.spend(sum(archive.records[name].size for name in names))
        # A stream has one position, and for small files threads cost more than they save.
        if isinstance(self._source, StreamSource) or self._source.size < 1 << 20:
            return {name: read(name) for name in names}
        with ThreadPoolExecutor(_N_READERS) as pool:
            return dict(zip(names, pool.map(read, names), strict=True))

    def _map(self, archive: ZipReader) -> dict[str, UntypedStorage]:
        """Every record below data/ as a storage over the mapped file."""
        assert self._mapped_file is not None
        is_shared = _options.config.load.mmap_flags == _mmap.MAP_SHARED
        access = _mmap.ACCESS_WRITE if is_shared else _mmap.ACCESS_COPY
        view = memoryview(_mmap.mmap(self._mapped_file.fileno(), 0, access=access))
        storages = {}
        for name, record in archive.records.items():
            part = view[record.offset : record.offset + record.size]
            # Rarely: files by other tools, whose tensors do not begin at a whole element.
            part = memoryview(bytearray(part)) if record.offset % 16 else part
            is_empty = not record.size
            storages[name] = (
                UntypedStorage(0)
                if is_empty
                else _core.frombuffer(part, dtype=_core.uint8).untyped_storage()
            )
        return storages


class _StorageOfRecord:
    """Makes the storage of a persistent id in a zip archive."""

    def __init__(
        self, records: dict[str, UntypedStorage], locations: Locations, is_swapped: bool
    ) -> None:
        self._records = records
        self._locations = locations
        self._is_swapped = is_swapped
        self._placed: dict[str, UntypedStorage] = {}

    def __call__(self, saved: Any) -> TypedStorage | UntypedStorage:
        if type(saved) is not tuple or len(saved) != 5:
            raise CheckpointError(f"a persistent id, {shown(saved)}, is not that of a storage")
        word, kind, key, location, numel = saved
        is_storage = isinstance(kind, StorageType) or kind is UntypedStorage
        if not is_storage or not all(type(part) is str for part in (word, key, location)):
            raise CheckpointError(
                f"a storage is named by {shown(key)}, and its kind is {shown(kind)}"
            )
        if word != "storage":
            raise CheckpointError(f"a persistent id begins with {shown(word)}", found=word)
        dtype = kind.dtype if isinstance(kind, StorageType) else _core.uint8
        name = f"data/{key}"
        if name not in self._records:
            raise CheckpointError(f"the file has no record {shown(name)}", found=key)
        nbytes = self._records[name].nbytes()
        if type(numel) is not int or numel != nbytes // dtype.itemsize:
            raise CheckpointError(
                f"the storage {key!r} is said to have {shown(numel)} elements of {dtype}, and its "
                f"record has {nbytes} bytes",
                found=numel,
            )
        # Placed once: tensors that shared a storage do so again, also on another device.
        if name not in self._placed:
            storage = self._records[name]
            if self._is_swapped:
                _swap_bytes(storage, dtype)
            self._placed[name] = self._locations.place(storage, location)
        placed = self._placed[name]
        if kind is UntypedStorage:
            return placed
        return TypedStorage(wrap_storage=placed, dtype=dtype)


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """The classes and functions of a checkpoint that :func:`facula.load` would refuse.

    Args:
        f: a path, or a file-like object, of a checkpoint in PyTorch's zip format.

    Returns:
        Their full names, which :func:`add_safe_globals` can allow after a look at what they do.

    Example:
        >>> import io, fractions
        >>> file = io.BytesIO()
        >>> facula.save([fractions.Fraction(1, 2), facula.ones(2)], file)
        >>> _ = file.seek(0)
        >>> facula.serialization.get_unsafe_globals_in_checkpoint(file)
        ['fractions.Fraction']
    """
    with open_file(f, "rb") as file:
        is_path = isinstance(f, (str, os.PathLike))
        source = FileSource(file) if is_path else StreamSource(file)
        if source.read(0, min(source.size, 4)) != b"PK\3\4":
            raise ValueError(
                "get_unsafe_globals_in_checkpoint: expected a checkpoint in PyTorch's zip format."
            )
        data = ZipReader(source, Budget(_LIST_LIMIT)).read("data.pkl")
    types = Types(Budget(_LIST_LIMIT), has_bytes=True)
    refused = set()
    for module, name in _named_in(data):
        try:
            types.find(module, name)
        except CheckpointError:
            refused.add(full_name(module, name))
    return sorted(refused)


def _named_in(data: bytes) -> list[tuple[str, str]]:
    """Every module and name that the pickle asks for, by its text alone."""
    # No machine runs here: it suffices to follow which strings can be on top of the stack.
    found = []
    strings: list[Any] = [None, None]  # the last two that were put on the stack
    memo: dict[int, Any] = {}
    try:
        argument: Any
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in ("GLOBAL", "INST"):
                found.append(tuple(argument.split(" ", 1)))
            elif opcode.name == "STACK_GLOBAL":
                found.append((str(strings[-2]), str(strings[-1])))
            elif opcode.name == "MEMOIZE":
                memo[len(memo)] = strings[-1]
            elif "PUT" in opcode.name:
                memo[argument] = strings[-1]
            elif "GET" in opcode.name:
                strings.append(memo.get(argument))
            elif isinstance(argument, str):
                strings.append(argument)
    except Exception as error:
        raise CheckpointError(f"load: the pickle of the checkpoint is damaged: {error}") from None
    return found
