import fractions
import io
import mmap
import struct
import zipfile

import pytest

import facula
from facula import serialization
from facula.serialization import CheckpointError, LoadEndianness
from facula.utils.serialization import config

pytestmark = pytest.mark.promise("P1")


def saved(obj):
    file = io.BytesIO()
    facula.save(obj, file)
    file.seek(0)
    return file


def test_unsafe_globals_are_listed_without_loading():
    file = saved([fractions.Fraction(1, 2), facula.ones(2), facula.nn.Linear(1, 1)])
    names = serialization.get_unsafe_globals_in_checkpoint(file)
    assert names == ["fractions.Fraction"]
    with serialization.safe_globals([fractions.Fraction]):
        file.seek(0)
        assert "fractions.Fraction" not in serialization.get_unsafe_globals_in_checkpoint(file)
    assert serialization.get_unsafe_globals_in_checkpoint(saved({"x": facula.ones(2)})) == []
    with pytest.raises(ValueError, match="expected a checkpoint in PyTorch's zip format"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"something else"))


def test_names_from_the_stack_are_listed():
    file = io.BytesIO()
    facula.save(fractions.Fraction(1, 2), file, pickle_protocol=4)
    file.seek(0)
    assert serialization.get_unsafe_globals_in_checkpoint(file) == ["fractions.Fraction"]


def test_data_is_left_out_and_can_be_filled_in_later(tmp_path):
    path = tmp_path / "x.pt"
    x = facula.arange(1000.0)
    with serialization.skip_data():
        facula.save({"x": x, "e": facula.zeros(0)}, path)
    assert facula.load(path)["x"].count_nonzero() == 0
    with zipfile.ZipFile(path) as archive:
        info = next(i for i in archive.infolist() if i.filename.endswith("data/0"))
    with open(path, "r+b") as file:
        file.seek(info.header_offset + 26)
        n_name, n_extra = struct.unpack("<HH", file.read(4))
        file.seek(n_name + n_extra, io.SEEK_CUR)
        file.write(x.numpy().tobytes())
    assert info.CRC == 0 and facula.equal(facula.load(path)["x"], x)
    with serialization.skip_data():
        assert facula.load(path)["x"].count_nonzero() == 0
        with pytest.raises(RuntimeError, match="save: skip_data needs PyTorch's zip format"):
            facula.save(x, io.BytesIO(), _use_new_zipfile_serialization=False)


def test_checksums_can_be_left_out():
    assert serialization.get_crc32_options() is True
    try:
        serialization.set_crc32_options(False)
        file = saved(facula.arange(3))
    finally:
        serialization.set_crc32_options(True)
    with zipfile.ZipFile(file) as archive:
        assert {info.CRC for info in archive.infolist()} == {0}
    file.seek(0)
    assert facula.load(file).tolist() == [0, 1, 2]


def test_a_lost_checksum_alone_is_damage():
    data = bytearray(saved(facula.arange(3)).getvalue())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        crc = archive.getinfo("archive/data/0").CRC.to_bytes(4, "little")
    at = data.rindex(crc)
    data[at : at + 4] = bytes(4)
    with pytest.raises(CheckpointError):
        facula.load(io.BytesIO(data))


def without_byteorder(obj):
    file = io.BytesIO()
    with (
        zipfile.ZipFile(saved(obj)) as source,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as target,
    ):
        for name in source.namelist():
            if not name.endswith("byteorder"):
                target.writestr(name, source.read(name))
    file.seek(0)
    return file


def test_the_byte_order_of_old_files_can_be_told():
    assert serialization.get_default_load_endianness() is None
    assert facula.load(without_byteorder(facula.tensor([1, 2]))).tolist() == [1, 2]
    try:
        serialization.set_default_load_endianness(LoadEndianness.BIG)
        loaded = facula.load(without_byteorder(facula.tensor([1, 2])))
    finally:
        serialization.set_default_load_endianness(None)
    assert loaded.tolist() == [1 << 56, 2 << 56]
    with pytest.raises(TypeError, match="expected a LoadEndianness, got str"):
        serialization.set_default_load_endianness("big")


def test_shared_mapping_writes_to_the_file(tmp_path):
    path = tmp_path / "x.pt"
    facula.save(facula.zeros(3), path)
    facula.load(path, mmap=True).fill_(1)
    assert facula.load(path).tolist() == [0, 0, 0]
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        facula.load(path, mmap=True).fill_(1)
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with serialization.set_default_mmap_options(mmap.MAP_PRIVATE):
        assert facula.load(path, mmap=True).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"expected mmap\.MAP_PRIVATE or mmap\.MAP_SHARED, got 7"):
        serialization.set_default_mmap_options(7)


def test_mapping_can_be_the_default(tmp_path):
    path = tmp_path / "x.pt"
    facula.save(facula.zeros(3), path)

    def is_mapped(loaded):
        with open("/proc/self/maps") as maps:
            return str(path) in maps.read()

    config.load.mmap = True
    try:
        assert is_mapped(facula.load(path))
        assert facula.load(saved(1)) == 1  # no path, nothing to map
        assert not is_mapped(facula.load(path, mmap=False))
    finally:
        config.load.mmap = False


def test_a_place_of_ones_own_is_registered():
    before = list(serialization._locations._packages)
    calls = []

    def bring(storage, location):
        calls.append(location)
        return storage if location == "shelf" else None

    try:
        serialization.register_package(
            5, lambda storage: "shelf" if storage.nbytes() == 12 else None, bring
        )
        assert serialization.location_tag(facula.ones(3).storage()) == "shelf"
        file = saved([facula.ones(3), facula.ones(1)])
        assert b"shelf" in file.getvalue()
        assert [x.tolist() for x in facula.load(file)] == [[1, 1, 1], [1]]
        assert calls == ["shelf", "cpu"]
    finally:
        serialization._locations._packages[:] = before
    file.seek(0)
    with pytest.raises(RuntimeError, match="the file has tensors of 'shelf'"):
        facula.load(file)
    storage = facula.ones(2).untyped_storage()
    assert serialization.default_restore_location(storage, "cpu") is storage
