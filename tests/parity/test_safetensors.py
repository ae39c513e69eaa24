"""Files exchanged with the safetensors library, both ways."""

import pytest
import safetensors
import safetensors.torch
import torch

from facula.serialization import CheckpointError
from facula.serialization.safetensors import load_file, safe_open, save_file

from .frameworks import facula, to_numpy

pytestmark = pytest.mark.promise("P6")

NAMES = "int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64"


def tensors(lib):
    x = lib.arange(-3, 3).reshape(2, 3)
    found = {name: x.to(getattr(lib, name)) for name in NAMES.split()}
    found |= {"bool": lib.tensor([True, False]), "uint8": lib.arange(5).to(lib.uint8)}
    return found | {"scalar": lib.tensor(2.5), "empty": lib.zeros(2, 0, 3)}


def same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name in ours:
        a, b = ours[name], theirs[name]
        assert (str(a.dtype), tuple(a.shape)) == (str(b.dtype), tuple(b.shape))
        assert (to_numpy(a) == to_numpy(b)).all()


def test_the_library_reads_ours(tmp_path):
    path = tmp_path / "x.safetensors"
    save_file(tensors(facula), path, {"epoch": "3"})
    same(load_file(path), safetensors.torch.load_file(path))
    with safetensors.safe_open(path, "pt") as theirs, safe_open(path, "pt") as ours:
        assert ours.keys() == list(theirs.keys())
        assert ours.metadata() == theirs.metadata() == {"epoch": "3"}


@pytest.mark.parametrize("mmap", [False, True])
def test_ours_reads_the_librarys(tmp_path, mmap):
    path = tmp_path / "x.safetensors"
    safetensors.torch.save_file(tensors(torch), path, {"epoch": "3"})
    same(load_file(path, mmap=mmap), safetensors.torch.load_file(path))
    with safetensors.safe_open(path, "pt") as theirs, safe_open(path, "pt") as ours:
        assert ours.keys() == list(theirs.keys())
        assert ours.offset_keys() == list(theirs.offset_keys())
        assert ours.metadata() == theirs.metadata()
        for name in theirs.keys():  # noqa: SIM118 - no dict
            a, b = ours.get_slice(name), theirs.get_slice(name)
            assert (a.get_shape(), a.get_dtype()) == (b.get_shape(), b.get_dtype())
            if a.get_shape() == [2, 3]:
                for index in (1, slice(0, 1), (slice(None), slice(0, 2)), ...):
                    assert (to_numpy(a[index]) == to_numpy(b[index])).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data + b"0",
        lambda data: b"\xff" * 8 + data[8:],
        lambda data: data.replace(b"F32", b"F99"),
        lambda data: data.replace(b"[2,3]", b"[2,4]"),
        lambda data: data.replace(b"[0,24]", b"[8,24]"),
        lambda data: data[:8] + b"[" + data[9:],
        lambda data: b"",
    ],
)
def test_both_refuse_the_same_files(tmp_path, change):
    path = tmp_path / "x.safetensors"
    safetensors.torch.save_file({"x": torch.ones(2, 3)}, path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(safetensors.SafetensorError):
        safetensors.torch.load_file(path)
    with pytest.raises(CheckpointError):
        load_file(path)


def test_weights_of_a_large_model_go_both_ways(tmp_path):
    path = tmp_path / "x.safetensors"
    model = torch.nn.TransformerEncoderLayer(512, 8, 2048)
    safetensors.torch.save_model(model, path)
    ours = facula.nn.TransformerEncoderLayer(512, 8, 2048)
    ours.load_state_dict(load_file(path))
    save_file(ours.state_dict(), path)
    again = torch.nn.TransformerEncoderLayer(512, 8, 2048)
    safetensors.torch.load_model(again, path)
    for a, b in zip(model.state_dict().values(), again.state_dict().values(), strict=True):
        assert torch.equal(a, b)
