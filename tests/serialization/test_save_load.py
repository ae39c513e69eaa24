import collections
import io
import os
import pickle
import zipfile
from fractions import Fraction

import numpy as np
import pytest
from hostile_files import archive

import facula
from facula import nn
from facula.serialization import CheckpointError, add_safe_globals, clear_safe_globals, safe_globals

pytestmark = pytest.mark.promise("P1")


def saved(obj, **kwargs):
    file = io.BytesIO()
    facula.save(obj, file, **kwargs)
    file.seek(0)
    return file


def again(obj, **kwargs):
    return facula.load(saved(obj), **kwargs)


DTYPES = [
    facula.bool,
    facula.uint8,
    facula.int8,
    facula.int16,
    facula.int32,
    facula.int64,
    facula.float16,
    facula.bfloat16,
    facula.float32,
    facula.float64,
    facula.complex64,
    facula.complex128,
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("is_new", [True, False])
def test_tensors_of_every_dtype_come_back(dtype, is_new):
    x = facula.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype)
    file = saved([x, x.t(), x[:, 1], x[0, 0], x[:0]], _use_new_zipfile_serialization=is_new)
    for a, b in zip([x, x.t(), x[:, 1], x[0, 0], x[:0]], facula.load(file), strict=True):
        assert (b.dtype, b.shape, b.stride()) == (dtype, a.shape, a.stride())
        assert facula.equal(a, b)


def test_views_of_one_storage_stay_views_of_one_storage():
    x = facula.zeros(4)
    a, b = again((x[:2], x[1:]))
    a[1] = 7
    assert b.tolist() == [7, 0, 0]
    assert len(zipfile.ZipFile(saved((x[:2], x[1:]))).namelist()) == 7


def test_plain_objects_come_back():
    objects = {
        "none": None,
        "bools": (True, False),
        "ints": [0, 255, 256, 65536, -1, 1 << 31, -(1 << 63), 1 << 200],
        "floats": [0.5, float("inf"), -0.0],
        "complex": 1 + 2j,
        "text": ["", "a", "é", "\ud800", "x" * 300],
        "bytes": [b"", b"\0\xff", bytearray(b"ab")],
        "containers": [(), [], {}, set(), frozenset()],
        "sets": ({1, "a"}, frozenset([2])),
        "nested": {(1, "a"): [{"b": (1, 2, 3, 4)}], 3.5: None},
        "ordered": collections.OrderedDict([("b", 1), ("a", 2)]),
        "counter": collections.Counter("aab"),
        "size": facula.Size([2, 3]),
        "device": facula.device("cpu"),
        "dtype": facula.bfloat16,
        "layout": facula.strided,
    }
    for protocol in (2, 3, 4, 5):
        loaded = facula.load(saved(objects, pickle_protocol=protocol))
        assert loaded == objects
        assert type(loaded["size"]) is facula.Size
        assert type(loaded["ordered"]) is collections.OrderedDict


def test_one_object_twice_is_one_object_again_also_within_itself():
    a = [1]
    b = {"a": a, "again": a}
    b["self"] = b
    loaded = again(b)
    assert loaded["a"] is loaded["again"]
    assert loaded["self"] is loaded


@pytest.mark.parametrize("array", [np.arange(6).reshape(2, 3), np.array(["a", "bc"]), np.ones(0)])
def test_arrays_of_numpy_come_back(array):
    for a in (array, array.T, np.asfortranarray(array), array.astype(array.dtype.newbyteorder())):
        b = again(a)
        assert b.dtype == array.dtype  # NumPy itself gives arrays the machine's byte order
        assert a.shape == b.shape
        assert (a == b).all()


@pytest.mark.parametrize("code", ["b1", "i1", "u2", "i8", "f2", "f4", "f8", "c16"])
def test_scalars_of_numpy_come_back(code):
    value = np.dtype(code).type(1)
    assert again(value) == value
    assert type(again(value)) is type(value)


def test_parameters_and_attributes_come_back():
    p = nn.Parameter(facula.ones(2), requires_grad=False)
    p.note = "frozen"
    q = again(p)
    assert type(q) is nn.Parameter
    assert (q.requires_grad, q.note, q.tolist()) == (False, "frozen", [1, 1])
    assert again(facula.ones(1, requires_grad=True)).requires_grad


@pytest.mark.promise("P2")
def test_a_checkpoint_of_a_training_goes_on_exactly():
    def train(model, optimizer, n_steps):
        for _ in range(n_steps):
            optimizer.zero_grad()
            model(facula.ones(1, 3)).sum().backward()
            optimizer.step()

    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2, momentum=0.1)).eval()
    optimizer = facula.optim.AdamW(model.parameters(), lr=0.1)
    train(model, optimizer, 2)
    file = saved({"epoch": 2, "model": model.state_dict(), "optimizer": optimizer.state_dict()})
    train(model, optimizer, 2)

    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2, momentum=0.1)).eval()
    other_optimizer = facula.optim.AdamW(other.parameters(), lr=0.5)
    checkpoint = facula.load(file)
    other.load_state_dict(checkpoint["model"])
    other_optimizer.load_state_dict(checkpoint["optimizer"])
    train(other, other_optimizer, 2)
    assert checkpoint["model"]._metadata == model.state_dict()._metadata
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        assert facula.equal(a, b)


def test_trust_and_its_opposite_contradict():
    with pytest.raises(ValueError, match="contradict each other"):
        facula.load(saved(1), weights_only=True, trusted=True)
    with pytest.raises(RuntimeError, match="it excludes weights_only=True"):
        facula.load(saved(1), pickle_module=pickle, weights_only=True)


def test_to_name_a_pickle_module_is_to_trust_the_file():
    assert facula.serialization.pickle is pickle
    for trust in ({}, {"trusted": True}, {"weights_only": False}):
        file = saved(Fraction(1, 3))
        assert facula.load(file, pickle_module=pickle, **trust) == Fraction(1, 3)


def test_allowed_types_are_made():
    file = saved(Fraction(1, 3))
    with pytest.raises(CheckpointError, match=r"names fractions\.Fraction"):
        facula.load(file)
    with safe_globals([Fraction]):
        file.seek(0)
        assert facula.load(file) == Fraction(1, 3)
    assert facula.serialization.get_safe_globals() == []
    add_safe_globals([(Fraction, "fractions.Fraction")])
    file.seek(0)
    assert facula.load(file) == Fraction(1, 3)
    clear_safe_globals()


class Point:
    def __init__(self, x):
        self.x = x


class Slotted:
    __slots__ = ("x",)


def test_allowed_classes_get_their_state():
    slotted = Slotted()
    slotted.x = 5
    with safe_globals([Point, Slotted]):
        a, b = again([Point(3), slotted])
    assert (a.x, b.x) == (3, 5)


def test_whole_modules_of_allowed_classes_load_without_trust():
    with safe_globals([nn.Linear, set]):
        loaded = again(nn.Linear(2, 1))
    assert type(loaded) is nn.Linear


def test_what_cannot_be_allowed_is_told_at_once():
    with pytest.raises(TypeError, match="add_safe_globals: expected classes and functions, got 3"):
        add_safe_globals([3])
    with pytest.raises(ValueError, match="expected a pair of a class and its name"):
        add_safe_globals([(3, "x")])


@pytest.mark.parametrize(
    "where",
    ["cpu", facula.device("cpu"), {"cuda:1": "cpu"}, lambda s, at: s, lambda s, at: None],
    ids=["str", "device", "dict", "function", "function_of_none"],
)
def test_map_location_takes_every_kind(where):
    assert again(facula.ones(2), map_location=where).tolist() == [1, 1]


def cuda_file():
    data = saved(facula.ones(2)).getvalue()
    pkl = zipfile.ZipFile(io.BytesIO(data)).read("archive/data.pkl")
    pkl = pkl.replace(b"X\3\0\0\0cpu", b"X\6\0\0\0cuda:7")
    return archive(pkl, {"0": facula.ones(2).numpy().tobytes()})


def test_tensors_of_a_missing_device_say_how_to_load_them():
    with pytest.raises(RuntimeError, match="Pass map_location"):
        facula.load(io.BytesIO(cuda_file()))
    places = []

    def place(storage, location):
        places.append(location)
        return storage

    assert facula.load(io.BytesIO(cuda_file()), map_location=place).tolist() == [1, 1]
    assert facula.load(io.BytesIO(cuda_file()), {"cuda:7": "cpu"}).tolist() == [1, 1]
    assert places == ["cuda:7"]


def test_errors_of_map_location_pass():
    def place(storage, location):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        again(facula.ones(2), map_location=place)


@pytest.mark.cuda
def test_tensors_go_to_the_device_and_back(tmp_path):
    path = tmp_path / "x.pt"
    facula.save(facula.ones(2).cuda(), path)
    assert facula.load(path).is_cuda
    assert facula.load(path, map_location="cpu").is_cpu


def test_a_mapped_file_is_read_and_never_written(tmp_path):
    path = tmp_path / "x.pt"
    facula.save({"a": facula.arange(4.0), "e": facula.zeros(0)}, path)
    before = path.read_bytes()
    loaded = facula.load(path, mmap=True)
    assert loaded["a"].tolist() == [0, 1, 2, 3]
    assert loaded["e"].shape == (0,)
    loaded["a"].fill_(7)
    assert loaded["a"].tolist() == [7, 7, 7, 7]
    assert path.read_bytes() == before
    path.unlink()
    assert loaded["a"].tolist() == [7, 7, 7, 7]


def test_only_zip_files_on_disk_can_be_mapped(tmp_path):
    with pytest.raises(ValueError, match="mmap=True needs a path"):
        facula.load(saved(1), mmap=True)
    path = tmp_path / "x.pt"
    facula.save(1, path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap=True needs PyTorch's zip format"):
        facula.load(path, mmap=True)


def test_paths_strings_and_file_objects_are_taken(tmp_path):
    path = tmp_path / "a b.pt"
    facula.save(1, path)
    assert facula.load(os.fspath(path)) == 1
    with open(path, "rb") as file:
        assert facula.load(file) == 1
    with open(path, "wb") as file:
        facula.save(2, file)
    assert facula.load(path) == 2


def test_what_is_no_file_is_refused():
    with pytest.raises(AttributeError, match=r"save: expected a path or a file-like object"):
        facula.save(1, 5)
    with pytest.raises(AttributeError, match=r"load: expected a path or a file-like object"):
        facula.load(5)
    with pytest.raises(FileNotFoundError):
        facula.load("/no/such/file.pt")


# PyTorch raises RuntimeError; programs in Python expect what open() raises.
def test_a_place_that_holds_no_file_is_refused(tmp_path):
    for kind in (FileNotFoundError, RuntimeError):
        with pytest.raises(kind, match=r"Parent directory .*missing does not exist"):
            facula.save(1, tmp_path / "missing" / "x.pt")
    for kind in (IsADirectoryError, RuntimeError):
        with pytest.raises(kind, match="save: this is a folder"):
            facula.save(1, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_several_checkpoints_in_one_stream():
    file = io.BytesIO()
    for value in (facula.ones(1), facula.ones(2)):
        facula.save(value, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [facula.load(file).numel(), facula.load(file).numel()] == [1, 2]


def test_the_same_object_gives_the_same_bytes():
    obj = {"a": facula.arange(5), "b": [1, 2]}
    assert saved(obj).getvalue() == saved(obj).getvalue()


def test_records_are_named_as_pytorch_names_them(tmp_path):
    path = tmp_path / "model.v2.pt"
    facula.save({"a": facula.arange(5)}, path)
    with zipfile.ZipFile(path) as zipped:
        assert zipped.testzip() is None
        assert zipped.namelist() == [
            "model/data.pkl",
            "model/.format_version",
            "model/.storage_alignment",
            "model/byteorder",
            "model/data/0",
            "model/version",
            "model/.data/serialization_id",
        ]


def test_two_dtypes_on_one_memory_are_refused():
    x = facula.zeros(2)
    with pytest.raises(RuntimeError, match="two tensors view the same memory, as"):
        saved([x, x.view(facula.int32)])


@pytest.mark.parametrize("dtype", [facula.float32, facula.complex64, facula.uint8], ids=str)
def test_a_file_of_the_other_byte_order_is_turned(dtype):
    x = facula.tensor([1, 2]).to(dtype)
    pkl = zipfile.ZipFile(saved(x)).read("archive/data.pkl")
    swapped = x.numpy().byteswap().tobytes()
    data = archive(pkl, {"0": swapped}, byteorder=b"big")
    assert facula.equal(facula.load(io.BytesIO(data)), x)
