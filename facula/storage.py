"""Storages: the flat pieces of memory that tensors are views of."""

from __future__ import annotations

import copy
import io
from collections.abc import Iterator
from typing import Any

from facula import _core
from facula._core import Tensor, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]


def _elements(storage: UntypedStorage, dtype: _core.dtype) -> Tensor:
    """All whole elements of a storage, as a tensor over its memory."""
    n = storage.nbytes() // dtype.itemsize
    return _core._tensor_over(storage, dtype, 0, (n,), (1,))


def _bytes_of(storage: UntypedStorage) -> memoryview:
    """The bytes of a storage in main memory, to read and write."""
    # A buffer of no elements has no address, which memoryview refuses.
    nothing = memoryview(bytearray())
    return memoryview(_elements(storage, _core.uint8)) if storage.nbytes() else nothing


def _swap_bytes(storage: UntypedStorage, dtype: _core.dtype) -> None:
    """Turn elements of the other byte order into ours, in place."""
    import numpy

    size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    n = storage.nbytes() // size * size
    if n and size > 1:
        numpy.frombuffer(_bytes_of(storage)[:n], f"u{size}").byteswap(inplace=True)


def _position(index: Any, size: int) -> int:
    if not isinstance(index, int):
        raise TypeError(
            f"storage: expected an int or a slice as index, got {type(index).__name__}."
        )
    if not -size <= index < size:
        raise IndexError(f"storage: expected an index from {-size} to {size - 1}, got {index}.")
    return index % size


def _span(index: slice, size: int) -> tuple[int, int]:
    start, stop, step = index.indices(size)
    if step != 1:
        raise RuntimeError(f"storage: expected a slice with step 1, got a step of {step}.")
    return start, max(start, stop)


class TypedStorage:
    """A storage whose bytes are read as elements of one dtype.

    Args:
        args: nothing, a number of elements, or a sequence of values.
        wrap_storage: an :class:`UntypedStorage` to look at, in place of new memory.
        dtype: the type of the elements; the default dtype if not given.
        device: the device of new memory.

    Example:
        >>> facula.tensor([1.0, 2.0]).storage().tolist()
        [1.0, 2.0]
    """

    def __init__(
        self,
        *args: Any,
        wrap_storage: UntypedStorage | None = None,
        dtype: _core.dtype | None = None,
        device: _core.device | str | None = None,
    ) -> None:
        self.dtype = _core.get_default_dtype() if dtype is None else dtype
        if wrap_storage is not None:
            if args or not isinstance(wrap_storage, UntypedStorage):
                raise TypeError("TypedStorage: wrap_storage is an UntypedStorage and comes alone.")
            self._untyped_storage = wrap_storage
        elif len(args) > 1:
            raise TypeError(
                f"TypedStorage: expected a size or a sequence, got {len(args)} arguments."
            )
        elif args and not isinstance(args[0], int):
            values = _core.tensor(args[0], dtype=self.dtype, device=device)
            self._untyped_storage = values.untyped_storage()
        else:
            nbytes = self.dtype.itemsize * (args[0] if args else 0)
            self._untyped_storage = UntypedStorage(nbytes, device=device)

    def _tensor(self) -> Tensor:
        return _elements(self._untyped_storage, self.dtype)

    def untyped(self) -> UntypedStorage:
        """The storage without its dtype."""
        return self._untyped_storage

    @property
    def device(self) -> _core.device:
        """Where the memory is."""
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a CUDA device."""
        return self.device.type == "cuda"

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def __len__(self) -> int:
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    def size(self) -> int:
        """The number of elements."""
        return len(self)

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """The number of bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the memory."""
        return self._untyped_storage.data_ptr()

    def __getitem__(self, index: int) -> Any:
        _check_has_bytes(self._untyped_storage)
        if isinstance(index, slice):
            raise RuntimeError("TypedStorage: slices are only supported by UntypedStorage.")
        return self._tensor().select(0, _position(index, len(self))).item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        if isinstance(index, slice):
            start, stop = _span(index, len(self))
            values = self._tensor().narrow(0, start, stop - start)
        else:
            values = self._tensor().select(0, _position(index, len(self)))
        values.copy_(_core.tensor(value, dtype=self.dtype))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """The elements as a list."""
        _check_has_bytes(self._untyped_storage)
        values: list[Any] = self._tensor().tolist()
        return values

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element to one value."""
        self._tensor().fill_(value)
        return self

    def copy_(self, source: TypedStorage | UntypedStorage) -> TypedStorage:
        """Take the elements of another storage of the same length."""
        theirs = (
            source._tensor() if isinstance(source, TypedStorage) else _elements(source, self.dtype)
        )
        self._tensor().copy_(theirs)
        return self

    def resize_(self, size: int) -> TypedStorage:
        """Change the number of elements; what fits is kept."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def clone(self) -> TypedStorage:
        """A copy in memory of its own."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def type(self) -> str:
        """The historic name of the storage's type, such as ``'torch.FloatStorage'``."""
        return "torch." + STORAGE_NAMES[str(self.dtype)]

    def is_shared(self) -> bool:
        """Whether other processes can use the memory."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move to memory that other processes can use; tensors over the storage follow."""
        self._untyped_storage.share_memory_()
        return self

    def _new_shared(self, size: int, *, device: Any = None) -> TypedStorage:
        # Collate functions that users wrote for PyTorch's workers call it.
        shared = _new_shared(size * self.dtype.itemsize, device=device)
        return TypedStorage(wrap_storage=shared, dtype=self.dtype)

    def cpu(self) -> TypedStorage:
        """The storage in main memory; itself if it is there."""
        untyped = self._untyped_storage.cpu()
        same = untyped is self._untyped_storage
        return self if same else TypedStorage(wrap_storage=untyped, dtype=self.dtype)

    def __repr__(self) -> str:
        kind = f"dtype={self.dtype}, device={self.device}"
        return _text(self, f"TypedStorage({kind}) of size {len(self)}")

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        untyped = copy.deepcopy(self._untyped_storage, memo)
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        # In the place of PyTorch, so that PyTorch reads the pickle: it takes a whole file.
        if __name__ == "torch.storage":
            return _load_from_bytes, (_as_file(self),)
        return _rebuild_typed_storage, (self._untyped_storage, self.dtype)


def _rebuild_typed_storage(storage: UntypedStorage, dtype: _core.dtype) -> TypedStorage:
    return TypedStorage(wrap_storage=storage, dtype=dtype)


def _rebuild_untyped_storage(data: bytes, device: str) -> UntypedStorage:
    if not data:
        return UntypedStorage(0, device=device)
    memory = _core.frombuffer(bytearray(data), dtype=_core.uint8)
    return memory.to(device, copy=True).untyped_storage()


def _as_file(storage: TypedStorage) -> bytes:
    from facula.serialization import save

    file = io.BytesIO()
    save(storage, file, _use_new_zipfile_serialization=False)
    return file.getvalue()


def _load_from_bytes(data: bytes) -> Any:
    """What a plain pickle of PyTorch has in the place of a storage: a whole file, in bytes.

    Args:
        data: what PyTorch's ``save`` wrote.
    """
    from facula.serialization import load

    return load(io.BytesIO(data))


STORAGE_NAMES = {
    "torch.float64": "DoubleStorage",
    "torch.float32": "FloatStorage",
    "torch.float16": "HalfStorage",
    "torch.bfloat16": "BFloat16Storage",
    "torch.int64": "LongStorage",
    "torch.int32": "IntStorage",
    "torch.int16": "ShortStorage",
    "torch.int8": "CharStorage",
    "torch.uint8": "ByteStorage",
    "torch.bool": "BoolStorage",
    "torch.complex64": "ComplexFloatStorage",
    "torch.complex128": "ComplexDoubleStorage",
}


def _text(storage: TypedStorage | UntypedStorage, kind: str) -> str:
    if storage.device.type == "meta":
        return f"...\n[torch.storage.{kind}]"
    lines = "\n".join(f" {value}" for value in storage)
    return f"{lines or ' '}\n[torch.storage.{kind}]"


def _bytes(self: UntypedStorage) -> Tensor:
    return _elements(self, _core.uint8)


def _check_has_bytes(storage: UntypedStorage) -> None:
    if storage.device.type == "meta":
        raise NotImplementedError("storage: Not available for 'meta' device type, without memory.")


def _getitem(self: UntypedStorage, index: int | slice) -> int | UntypedStorage:
    _check_has_bytes(self)
    if isinstance(index, slice):
        return self._slice(*_span(index, len(self)))
    return int(_bytes(self).select(0, _position(index, len(self))))


def _setitem(self: UntypedStorage, index: int | slice, value: Any) -> None:
    _check_has_bytes(self)
    TypedStorage(wrap_storage=self, dtype=_core.uint8)[index] = value


def _iter(self: UntypedStorage) -> Iterator[int]:
    return iter(_bytes(self).tolist())


def _tolist(self: UntypedStorage) -> list[int]:
    """The bytes as a list of ints."""
    _check_has_bytes(self)
    values: list[int] = _bytes(self).tolist()
    return values


def _size(self: UntypedStorage) -> int:
    """The number of bytes."""
    return self.nbytes()


def _element_size(self: UntypedStorage) -> int:
    """1: the elements are bytes."""
    return 1


def _fill_(self: UntypedStorage, value: int) -> UntypedStorage:
    """Set every byte to one value."""
    _bytes(self).fill_(value)
    return self


def _copy_(self: UntypedStorage, source: UntypedStorage) -> UntypedStorage:
    """Take the bytes of another storage of the same length."""
    _bytes(self).copy_(_bytes(source))
    return self


def _clone(self: UntypedStorage) -> UntypedStorage:
    """A copy in memory of its own."""
    return _bytes(self).clone().untyped_storage()


def _cpu(self: UntypedStorage) -> UntypedStorage:
    """The storage in main memory; itself if it is there."""
    return self if self.device.type == "cpu" else _bytes(self).cpu().untyped_storage()


def _share_memory_(self: UntypedStorage) -> UntypedStorage:
    """Move to memory that other processes can use; tensors over the storage follow."""
    if not self.is_shared():
        from facula import multiprocessing

        self._share(multiprocessing.get_sharing_strategy() == "file_descriptor")
    return self


def _new_shared(size: int, *, device: Any = "cpu") -> UntypedStorage:
    return UntypedStorage(size, device=device).share_memory_()


def _from_file(filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
    """A storage that is a file's memory: pages are read when they are needed.

    Args:
        filename: the path of the file.
        shared: whether what is written to the storage is written to the file, which is then made,
            or made longer, if need be.
        nbytes: the number of bytes; those of the file if not given.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     _ = file.write(b"abc")
        ...     file.flush()
        ...     facula.UntypedStorage.from_file(file.name).tolist()
        [97, 98, 99]
    """
    import mmap
    import os

    try:
        file = os.open(filename, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY, 0o600)
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(
            f"UntypedStorage.from_file: unable to open file <{filename}> in {mode} mode: "
            f"{error.strerror} ({error.errno})"
        ) from error
    try:
        n_there = os.fstat(file).st_size
        if nbytes > n_there and shared:
            os.ftruncate(file, nbytes)
        elif nbytes > n_there:
            raise RuntimeError(
                f"from_file: expected a file of at least {nbytes} bytes, but {filename} has "
                f"{n_there}. A file is made longer with shared=True only."
            )
        nbytes = nbytes if nbytes > 0 else n_there
        if nbytes == 0:  # which the system does not map
            return UntypedStorage(0)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        memory = mmap.mmap(file, nbytes, access=access)
    finally:
        os.close(file)
    return _core.frombuffer(memory, dtype=_core.uint8).untyped_storage()


def _untyped(self: UntypedStorage) -> UntypedStorage:
    """The storage itself, which has no dtype."""
    return self


def _is_cuda(self: UntypedStorage) -> bool:
    return self.device.type == "cuda"


def _repr(self: UntypedStorage) -> str:
    return _text(self, f"UntypedStorage(device={self.device}) of size {len(self)}")


def _deepcopy(self: UntypedStorage, memo: dict[int, Any]) -> UntypedStorage:
    return _clone(self)


def _reduce(self: UntypedStorage) -> tuple[Any, ...]:
    data = bytes(memoryview(_bytes(self).cpu()))
    return _rebuild_untyped_storage, (data, str(self.device))


_METHODS = {
    "__getitem__": _getitem,
    "__setitem__": _setitem,
    "__iter__": _iter,
    "__repr__": _repr,
    "__copy__": _clone,
    "__deepcopy__": _deepcopy,
    "__reduce__": _reduce,
    "tolist": _tolist,
    "size": _size,
    "element_size": _element_size,
    "fill_": _fill_,
    "copy_": _copy_,
    "clone": _clone,
    "cpu": _cpu,
    "share_memory_": _share_memory_,
    "_new_shared": staticmethod(_new_shared),
    "from_file": staticmethod(_from_file),
    "untyped": _untyped,
    "is_cuda": property(_is_cuda, doc="Whether the memory is on a CUDA device."),
}
for _name, _method in _METHODS.items():
    setattr(UntypedStorage, _name, _method)
del _name, _method
