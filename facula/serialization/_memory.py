"""The bytes of a storage in main memory."""

from __future__ import annotations

from facula import _core
from facula._core import UntypedStorage
from facula.storage import _elements


def bytes_of(storage: UntypedStorage) -> memoryview:
    """The memory of a storage, to read and write."""
    nothing = memoryview(bytearray())
    return memoryview(_elements(storage, _core.uint8)) if storage.nbytes() else nothing


def swap_bytes(storage: UntypedStorage, dtype: _core.dtype) -> None:
    """Turn elements of the other byte order into ours."""
    import numpy

    size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    n = storage.nbytes() // size * size
    if n and size > 1:
        numpy.frombuffer(bytes_of(storage)[:n], f"u{size}").byteswap(inplace=True)
