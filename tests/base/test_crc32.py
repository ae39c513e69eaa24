import os
import zlib

import numpy as np
import pytest

import facula
from facula import _core

pytestmark = pytest.mark.promise("P1")


def test_the_checksum_is_zlibs_at_every_size_offset_and_start():
    random = np.random.default_rng(0)
    data = memoryview(random.bytes(2_000_000))
    for size in [*range(900), *random.integers(0, 1_900_000, 100)]:
        start, value = int(random.integers(0, 100)), int(random.integers(0, 1 << 32))
        part = data[start : start + size]
        assert _core._crc32(part, value) == zlib.crc32(part, value)
    assert _core._crc32(b"123456789") == 0xCBF43926  # the value that every description gives


def test_the_checksum_does_not_depend_on_threads():
    data = np.random.default_rng(1).bytes(5_000_001)
    before = facula.get_num_threads()
    try:
        for n_threads in (1, 2, 8):
            facula.set_num_threads(n_threads)
            assert _core._crc32(data) == zlib.crc32(data)
    finally:
        facula.set_num_threads(before)


def test_a_file_is_read_with_its_checksum(tmp_path):
    data = np.random.default_rng(2).bytes(3_000_000)
    path = tmp_path / "data"
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    for offset, size in [(0, 3_000_000), (1, 100), (7, 2_000_000), (3_000_000, 0)]:
        buffer = bytearray(size)
        assert _core._read_checked(fd, offset, buffer) == zlib.crc32(data[offset : offset + size])
        assert buffer == data[offset : offset + size]
    assert _core._read_checked(fd, 2_999_999, bytearray(2)) is None
    os.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        _core._read_checked(fd, 0, bytearray(2))
    with pytest.raises(BufferError):
        _core._read_checked(0, 0, b"12")
