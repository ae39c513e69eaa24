import json
import struct

import pytest

import facula
from facula import nn
from facula.serialization import CheckpointError
from facula.serialization.safetensors import load_file, safe_open, save_file

pytestmark = pytest.mark.promise("P6")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.safetensors"


NAMES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64"


@pytest.mark.parametrize("mmap", [False, True])
def test_tensors_of_every_dtype_come_back(path, mmap):
    tensors = {n: facula.tensor([[0, 1, 2]]).to(getattr(facula, n)) for n in NAMES.split()}
    tensors |= {
        "scalar": facula.tensor(3.0),
        "empty": facula.zeros(2, 0),
        "t": facula.ones(2, 3).t(),
    }
    save_file(tensors, path)
    loaded = load_file(path, mmap=mmap)
    assert loaded.keys() == tensors.keys()
    for name, x in tensors.items():
        assert (loaded[name].dtype, loaded[name].shape) == (x.dtype, x.shape)
        assert facula.equal(loaded[name], x)


def test_bytes_are_those_of_the_format(path):
    save_file({"w": facula.tensor([1.0, 2.0])}, path, {"by": "hand"})
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    assert n % 8 == 0
    assert json.loads(data[8 : 8 + n]) == {
        "__metadata__": {"by": "hand"},
        "w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
    }
    assert data[8 + n :] == struct.pack("<2f", 1, 2)


def test_a_file_of_another_writer_loads(path):
    header = json.dumps(
        {
            "b": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
            "a": {"dtype": "F32", "shape": [1, 1], "data_offsets": [1, 5]},
        }
    ).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\7" + struct.pack("<f", 2.5))
    for mmap in (False, True):
        loaded = load_file(path, mmap=mmap)
        assert (loaded["a"].tolist(), loaded["b"].tolist()) == ([[2.5]], [7])


def test_tied_weights_are_saved_once_and_tied_again(path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.inside = nn.Embedding(100, 10)
            self.outside = nn.Linear(10, 100, bias=False)
            self.outside.weight = self.inside.weight

    save_file(Tied().state_dict(), path)
    assert path.stat().st_size < 4000 + 300
    loaded = load_file(path)
    assert loaded["outside.weight"].data_ptr() == loaded["inside.weight"].data_ptr()
    Tied().load_state_dict(loaded)


def test_a_mapped_file_is_never_written(path):
    save_file({"w": facula.ones(3)}, path)
    load_file(path, mmap=True)["w"].zero_()
    assert load_file(path)["w"].tolist() == [1, 1, 1]


def test_what_is_no_tensor_is_refused(path):
    with pytest.raises(ValueError, match="expected tensors by their names, got int for 'epoch'"):
        save_file({"epoch": 3}, path)
    with pytest.raises(ValueError, match=r"safetensors has no torch\.complex128"):
        save_file({"z": facula.ones(1, dtype=facula.complex128)}, path)
    assert not path.exists()


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.promise("P3")
@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        b"\xff",
        {"w": 3},
        {"w": {}},
        {"w": entry(dtype="F8_E4M3")},
        {"w": entry(shape=(2,))},
        {"w": entry(shape=(-1,))},
        {"w": entry(shape=(1.0,))},
        {"w": entry(shape=(1 << 40, 1 << 40), offsets=(0, 1 << 82))},
        {"w": entry(offsets=(4, 0))},
        {"w": entry(offsets=(1, 5))},
        {"w": entry(offsets=(0, 4, 8))},
        {"w": entry(), "v": entry()},
        {"w": entry(dtype="F16", offsets=(0, 2))},
        {},
        {"w": entry(), "__metadata__": 3},
        {"w": entry(), "__metadata__": {"facula.tied": "["}},
        {"w": entry(), "__metadata__": {"facula.tied": '{"v": "x"}'}},
        {"w": entry(), "__metadata__": {"facula.tied": '{"w": "w"}'}},
        b'{"w":1,"w":2}',
    ],
    ids=str,
)
def test_hostile_headers_are_refused(path, header):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"\0\0\0\0")
    with pytest.raises(CheckpointError, match="load_file: "):
        load_file(path)


@pytest.mark.promise("P3")
def test_truncation_at_every_byte_is_found(path):
    save_file({"w": facula.ones(3)}, path)
    data = path.read_bytes()
    for n in range(len(data)):
        path.write_bytes(data[:n])
        with pytest.raises(CheckpointError):
            load_file(path)
    path.write_bytes(struct.pack("<Q", 1 << 60) + data[8:])
    with pytest.raises(CheckpointError, match="a header of 1152921504606846976 bytes is announced"):
        load_file(path)


def test_tensors_are_read_one_by_one(path):
    x, w = facula.arange(24.0).reshape(4, 3, 2), facula.ones(2)
    save_file({"x": x, "w": w, "tied": w, "e": facula.zeros(0, 2)}, path, {"by": "hand"})
    with safe_open(path, "pt") as file:
        assert file.keys() == ["e", "tied", "w", "x"]
        assert sorted(file.offset_keys()) == file.keys()
        assert file.metadata() == {"by": "hand"}
        assert facula.equal(file.get_tensor("x"), x)
        assert facula.equal(file.get_tensor("tied"), w)
        part = file.get_slice("x")
        assert (part.get_shape(), part.get_dtype()) == ([4, 3, 2], "F32")
        for index in (1, slice(1, 3), (slice(None), 2), (..., -1), (0, 1, 1), slice(0, 4, 2), ...):
            assert facula.equal(part[index], x[index])
        assert file.get_slice("e")[:].shape == (0, 2)
        with pytest.raises(IndexError):
            part[5]
        with pytest.raises(KeyError, match="safe_open: the file has no tensor 'y'"):
            file.get_tensor("y")
    with pytest.raises(ValueError, match="safe_open: the file is closed"):
        file.get_tensor("x")
    with safe_open(path, "np") as file:
        assert file.get_tensor("x").tolist() == x.tolist()
        assert file.get_slice("x")[1].tolist() == x[1].tolist()
    with pytest.raises(ValueError, match="safe_open: expected the framework to be one of"):
        safe_open(path, "tf")


def test_a_slice_is_not_a_window_on_the_file(path):
    save_file({"x": facula.zeros(4)}, path)
    with safe_open(path) as file:
        part = file.get_slice("x")[:2]
        part += 1
        assert file.get_slice("x")[:2].tolist() == [0, 0]
    assert part.tolist() == [1, 1]


def test_a_slice_reads_only_what_it_chooses(path):
    n = 64 << 20
    save_file({"x": facula.zeros(n // 1024, 1024, dtype=facula.uint8)}, path)
    facula.empty(0)

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    with safe_open(path) as file:
        before = resident()
        assert file.get_slice("x")[5].shape == (1024,)
        assert resident() - before < n // 4
