"""Writing checkpoints: the object as a pickle with PyTorch's names, its storages beside it."""

from __future__ import annotations

import errno
import hashlib
import io
import mmap
import os
import pickle
import struct
import sys
from collections.abc import Callable
from types import FunctionType
from typing import IO, Any

from facula import _core, _legacy
from facula._core import UntypedStorage
from facula.serialization import _options
from facula.serialization._atomic import replacing
from facula.serialization._errors import FolderError, MissingFolderError
from facula.serialization._locations import location_tag
from facula.serialization._old_formats import MAGIC, VERSION
from facula.serialization._torch_names import get_layout, torch_name
from facula.serialization._zip_writer import ALIGNMENT, ZipWriter
from facula.storage import STORAGE_NAMES, TypedStorage, _bytes_of

__all__ = ["save"]


def save(
    obj: object,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object to a file that :func:`load` and PyTorch's ``torch.load`` read.

    A file on disk is replaced as a whole: the new content is written beside it, brought to the
    disk, and takes its name in one step. Whatever goes wrong before, an exception of the object, a
    full disk, a kill, leaves the old file as it was. Only on a file system that has no rename is
    the file overwritten in place, with a warning. Links are followed; pipes and devices are
    written to directly.

    Tensors that are views of one storage are so again after :func:`load`; the whole storage is
    written, also for a small part of it (``clone()`` makes it small).

    Args:
        obj: what to save: a state dict, tensors, containers of them, a whole module.
        f: a path, or a file-like object with ``write``.
        pickle_module: the module whose ``Pickler`` is used.
        pickle_protocol: the protocol of the pickle; 2 is what PyTorch reads without trust.
        _use_new_zipfile_serialization: False writes the format of PyTorch before 1.6.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> facula.save({"weight": facula.ones(2)}, file)
        >>> file.getvalue()[:2]
        b'PK'
    """
    write = _write_zip if _use_new_zipfile_serialization else _write_stacked
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        _check_place(path)
        with replacing(path) as file:
            write(obj, file.write, _root_of(path), pickle_module, pickle_protocol)
    elif hasattr(f, "write"):
        write(obj, f.write, "archive", pickle_module, pickle_protocol)
    else:
        raise AttributeError(
            f"save: expected a path or a file-like object with write, got {type(f).__name__}."
        )


def _check_place(path: str) -> None:
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.exists(folder):
        text = f"save: Parent directory {folder} does not exist"
        raise MissingFolderError(errno.ENOENT, text, path)
    if os.path.isdir(path):
        raise FolderError(errno.EISDIR, "save: this is a folder, not a file", path)


def _root_of(path: str) -> str:
    """The folder that PyTorch puts the records of a file into."""
    stem = os.path.basename(path).partition(".")[0]
    return (
        stem if stem.isascii() and stem.isprintable() and "\\" not in stem and stem else "archive"
    )


class _Storages:
    """Gives keys to the storages of an object, in the order in which they are met."""

    def __init__(self) -> None:
        self._keys: dict[int, str] = {}
        self._dtypes: dict[int, _core.dtype] = {}
        self.storages: list[UntypedStorage] = []

    def describe(self, obj: TypedStorage | UntypedStorage) -> tuple[Any, str, str, int]:
        """The type, key, place and number of elements of a storage."""
        if isinstance(obj, TypedStorage):
            storage, dtype = obj.untyped(), obj.dtype
            kind: Any = getattr(_legacy, STORAGE_NAMES[str(dtype)])
        else:
            storage, dtype, kind = obj, _core.uint8, UntypedStorage
        # PyTorch's reader takes the dtype from the first tensor of a storage for all others.
        address = storage._address()
        if address and self._dtypes.setdefault(address, dtype) != dtype:
            raise RuntimeError(
                f"save: two tensors view the same memory, as {self._dtypes[address]} and as "
                f"{dtype}. The file format has no place for that: save a clone() of one of them."
            )
        if storage._cdata not in self._keys:
            self._keys[storage._cdata] = str(len(self._keys))
            self.storages.append(storage)  # which also keeps its address from being used again
        location = location_tag(storage)
        return kind, self._keys[storage._cdata], location, storage.nbytes() // dtype.itemsize


def _pickle(
    obj: object,
    persistent_id: Callable[[Any], Any],
    pickle_module: Any,
    protocol: int,
) -> bytes:
    """The object as a pickle in which our types have PyTorch's names."""
    # Only the pickler in Python lets names be chosen.
    base = pickle._Pickler if pickle_module is pickle else pickle_module.Pickler
    buffer = io.BytesIO()

    class Pickler(base):  # type: ignore[misc, valid-type]
        def persistent_id(self, obj: Any) -> Any:
            if isinstance(obj, (TypedStorage, UntypedStorage)):
                return persistent_id(obj)
            return None

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, _core.layout):
                return get_layout, (f"torch.{obj.__reduce__()}",)
            return NotImplemented

        def save_global(self, obj: Any, name: str | None = None) -> None:
            found = torch_name(obj, name)
            if found is None:
                super().save_global(obj, name)
            else:
                self.write(pickle.GLOBAL + "{}\n{}\n".format(*found).encode())
                self.memoize(obj)

    # The pickler finds what saves functions by this table, not by the method of the class.
    Pickler.dispatch = {**getattr(base, "dispatch", {}), FunctionType: Pickler.save_global}
    Pickler(buffer, protocol=protocol).dump(obj)
    return buffer.getvalue()


def _write_zip(
    obj: object, write: Callable[[Any], Any], root: str, pickle_module: Any, protocol: int
) -> None:
    storages = _Storages()

    def persistent_id(storage: Any) -> Any:
        return "storage", *storages.describe(storage)

    # All of the pickle before the first byte is written: pickling meets errors of the object.
    data = _pickle(obj, persistent_id, pickle_module, protocol)
    archive = ZipWriter(write, root)
    has_crc = _options.config.save.compute_crc32
    archive.record("data.pkl", data, has_crc)
    archive.record(".format_version", b"1", has_crc)
    archive.record(".storage_alignment", str(ALIGNMENT).encode(), has_crc)
    archive.record("byteorder", sys.byteorder.encode(), has_crc)
    for key, storage in enumerate(storages.storages):
        is_skipped = _options.is_data_skipped and storage.nbytes() > 0
        content = _zeros(storage.nbytes()) if is_skipped else _bytes_of(storage.cpu())
        archive.record(f"data/{key}", content, has_crc and not is_skipped)
    archive.record("version", b"3\n", has_crc)
    archive.record(".data/serialization_id", _identity(archive.checksums), has_crc)
    archive.finish()


def _zeros(nbytes: int) -> memoryview:
    """Zeros that take no memory before they are written to."""
    return memoryview(mmap.mmap(-1, nbytes))


def _identity(checksums: list[tuple[str, int]]) -> bytes:
    """Forty digits that the same content always has."""
    digest = hashlib.sha256(repr(checksums).encode()).digest()
    return b"".join(b"%020d" % half for half in struct.unpack("<QQ", digest[:16]))


def _write_stacked(
    obj: object, write: Callable[[Any], Any], root: str, pickle_module: Any, protocol: int
) -> None:
    """The format of PyTorch before 1.6: pickles one after another, then the storages."""
    if _options.is_data_skipped:
        raise RuntimeError(
            "save: skip_data needs PyTorch's zip format; leave out "
            "_use_new_zipfile_serialization=False."
        )
    storages = _Storages()
    sizes: list[int] = []

    def persistent_id(storage: Any) -> Any:
        kind, key, location, numel = storages.describe(storage)
        if len(sizes) < len(storages.storages):
            sizes.append(numel)
        # The format has only typed storages.
        kind = _legacy.ByteStorage if kind is UntypedStorage else kind
        return "storage", kind, key, location, numel, None

    machine = {
        "protocol_version": VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    data = _pickle(obj, persistent_id, pickle_module, protocol)
    for head in (MAGIC, VERSION, machine):
        write(pickle.dumps(head, protocol))
    write(data)
    write(pickle.dumps([str(key) for key in range(len(sizes))], protocol))
    for size, storage in zip(sizes, storages.storages, strict=True):
        write(struct.pack("<q", size))
        write(_bytes_of(storage.cpu()))
