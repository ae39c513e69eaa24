"""Checkpoints exchanged with PyTorch, both ways."""

from __future__ import annotations

import collections
import fractions
import importlib
import io
import pickle
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from .frameworks import DTYPES, convert, facula, to_numpy
from .vision_oracle import torchvision

pytestmark = pytest.mark.promise("P1")

NUMPY_GLOBALS = [
    np.dtype,
    np.ndarray,
    np._core.multiarray.scalar,
    np._core.multiarray._reconstruct,
    *(type(np.dtype(code)) for code in ("f8", "i8", "i4", "b1", "f4", "U3")),
]
IS_NEW = pytest.mark.parametrize("is_new", [True, False], ids=["zip", "stacked"])


def exchange(obj, source, target, is_new=True, **kwargs):
    file = io.BytesIO()
    source.save(obj, file, _use_new_zipfile_serialization=is_new)
    file.seek(0)
    if target is torch:
        with torch.serialization.safe_globals(NUMPY_GLOBALS):
            return torch.load(file, weights_only=True, **kwargs)
    return target.load(file, **kwargs)


def both_ways(obj, is_new=True):
    """An object of PyTorch as Facula loads it, and that one as PyTorch loads it again."""
    ours = exchange(obj, torch, facula, is_new)
    return ours, exchange(ours, facula, torch, is_new)


def same_tensor(a, b):
    assert str(a.dtype) == str(b.dtype)
    assert (tuple(a.shape), a.stride(), a.storage_offset()) == (
        tuple(b.shape),
        b.stride(),
        b.storage_offset(),
    )
    assert a.requires_grad == b.requires_grad
    assert a.untyped_storage().nbytes() == b.untyped_storage().nbytes()
    np.testing.assert_array_equal(to_numpy(a), to_numpy(b))


@IS_NEW
@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_of_every_dtype_and_layout(dtype, is_new):
    x = torch.arange(24).reshape(2, 3, 4).to(DTYPES[dtype])
    tensors = [x, x.permute(2, 0, 1), x[:, 1, ::2], x[1, 2, 3], x[:0], x[0, 0].expand(3, 4)]
    ours, again = both_ways(tensors, is_new)
    for t, a, b in zip(tensors, ours, again, strict=True):
        same_tensor(t, a)
        same_tensor(t, b)


@IS_NEW
def test_views_share_one_storage(is_new):
    x = torch.zeros(10)
    for a, b in both_ways((x[:6], x[4:]), is_new):
        a[5] = 7
        assert b[1] == 7


@IS_NEW
def test_parameters_buffers_and_attributes(is_new):
    p = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    q = torch.nn.Parameter(torch.ones(2))
    q.note = "mine"
    ours, again = both_ways([p, q, torch.nn.Buffer(torch.ones(1))], is_new)
    for lib, loaded in ((facula, ours), (torch, again)):
        assert [type(v) for v in loaded[:2]] == [lib.nn.Parameter] * 2
        assert [v.requires_grad for v in loaded] == [False, True, False]
        assert loaded[1].note == "mine"
        assert isinstance(loaded[2], lib.nn.Buffer)


def test_objects_that_both_take():
    obj = {
        "scalars": [None, True, 3, 1 << 80, -1.5, 1 + 2j, "text é", b"\0\xff", bytearray(b"ab")],
        "containers": [(), [], {}, {1, 2}, collections.OrderedDict(b=1, a=2), (1, (2, [3]))],
        "counter": collections.Counter("aab"),
        "keys": {1: "a", (1, 2): "b", None: "c", 2.5: "d"},
        "size": torch.Size([2, 3]),
        "device": torch.device("cuda", 1),
        "layout": torch.strided,
        "dtypes": list(DTYPES.values()),
    }
    ours, again = both_ways(obj)
    assert again == obj
    assert ours == convert(facula, obj) | {"containers": obj["containers"]}
    assert [type(v) for v in ours["containers"]] == [type(v) for v in obj["containers"]]


def test_arrays_and_numbers_of_numpy():
    obj = [np.float64(1.5), np.int32(-3), np.bool_(True), np.arange(6).reshape(2, 3).T]
    ours, again = both_ways(obj)
    for loaded in (ours, again):
        assert [type(v) for v in loaded] == [type(v) for v in obj]
        assert loaded[:3] == obj[:3]
        np.testing.assert_array_equal(loaded[3], obj[3])


def trained(lib):
    """A model after three steps of AdamW, made of the same numbers in both libraries."""
    # No bias before the normalisation: its gradient would be nothing but rounding.
    conv = lib.nn.Conv2d(1, 4, 3, bias=False)
    model = lib.nn.Sequential(conv, lib.nn.BatchNorm2d(4), lib.nn.ReLU(), lib.nn.Flatten())
    with lib.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(lib.linspace(-1, 1, p.numel()).reshape(p.shape) * (i + 1))
    optimizer = lib.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = lib.optim.lr_scheduler.StepLR(optimizer, 2)
    return model, optimizer, scheduler


def step(lib, model, optimizer, scheduler):
    optimizer.zero_grad()
    model(lib.linspace(0, 1, 50).reshape(2, 1, 5, 5)).square().mean().backward()
    optimizer.step()
    scheduler.step()


@pytest.mark.promise("P2")
@pytest.mark.parametrize("source, target", [(torch, facula), (facula, torch)], ids=["to", "from"])
def test_a_training_begun_in_one_goes_on_in_the_other(source, target):
    parts = trained(source)
    for _ in range(3):
        step(source, *parts)
    names = ["model", "optimizer", "scheduler"]
    saved = {n: p.state_dict() for n, p in zip(names, parts, strict=True)} | {"epoch": 3}
    loaded = exchange(saved, source, target)
    others = trained(target)
    for part, key in zip(others, names, strict=True):
        part.load_state_dict(loaded[key])
    for _ in range(2):
        step(source, *parts)
        step(target, *others)
    for a, b in zip(parts[0].state_dict().values(), others[0].state_dict().values(), strict=True):
        np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=1e-4, atol=1e-5)
    assert parts[2].get_last_lr() == pytest.approx(others[2].get_last_lr())


def load_module(target, file):
    # PyTorch needs trust for what is no tensor; we need none for classes that are ours.
    return target.load(file, weights_only=target is facula)


@pytest.mark.promise("P2")
@pytest.mark.parametrize("source, target", [(torch, facula), (facula, torch)], ids=["to", "from"])
def test_whole_modules(source, target):
    model = source.nn.Sequential(
        source.nn.Linear(4, 8),
        source.nn.GELU(),
        source.nn.LayerNorm(8),
        source.nn.Conv1d(2, 3, 3),
    ).eval()
    x = np.linspace(-1, 1, 8, dtype="f4").reshape(1, 2, 4)
    file = io.BytesIO()
    source.save(model, file)
    file.seek(0)
    loaded = load_module(target, file)
    a, b = model(source.from_numpy(x)), loaded(target.from_numpy(x))
    np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=1e-5, atol=1e-6)


@pytest.mark.promise("P2")
@pytest.mark.parametrize("source, target", [(torch, facula), (facula, torch)], ids=["to", "from"])
@pytest.mark.parametrize("name", ["MultiheadAttention(4, 2)", "GRUCell(2, 3)", "MaxPool2d(2)"])
def test_modules_have_the_same_names_in_files(name, source, target):
    file = io.BytesIO()
    source.save(eval(f"nn.{name}", {"nn": source.nn}), file)
    file.seek(0)
    loaded = load_module(target, file)
    assert type(loaded) is getattr(target.nn, name.partition("(")[0])


@pytest.mark.promise("P2")
@pytest.mark.parametrize("source, target", [(torch, facula), (facula, torch)], ids=["to", "from"])
def test_whole_recurrent_layers_go_both_ways(source, target):
    model = source.nn.LSTM(4, 3, 2, bidirectional=True)
    file = io.BytesIO()
    source.save(model, file)
    file.seek(0)
    loaded = load_module(target, file)
    x = np.linspace(-1, 1, 24, dtype="f4").reshape(3, 2, 4)
    a, b = model(source.from_numpy(x))[0], loaded(target.from_numpy(x))[0]
    np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=1e-5, atol=1e-6)


@pytest.mark.promise("P2")
@pytest.mark.parametrize("source, target", [(torch, facula), (facula, torch)], ids=["to", "from"])
@pytest.mark.parametrize("name", ["squeezenet1_1", "mobilenet_v3_small", "resnet18"])
def test_whole_networks_of_vision_go_both_ways(name, source, target):
    vision = {torch: torchvision, facula: importlib.import_module("facula.vision")}[source]
    model = getattr(vision.models, name)(num_classes=3).eval()
    file = io.BytesIO()
    source.save(model, file)
    file.seek(0)
    loaded = load_module(target, file)
    x = np.linspace(-1, 1, 3 * 64 * 64, dtype="f4").reshape(1, 3, 64, 64)
    a, b = model(source.from_numpy(x)), loaded(target.from_numpy(x))
    np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=1e-3, atol=1e-5)


@pytest.mark.promise("P2")
@pytest.mark.parametrize("activation", ["torch.relu", "F.gelu", "F.relu", "'gelu'"])
def test_activations_of_pytorch_load_without_trust(activation):
    function = eval(activation, {"torch": torch, "F": torch.nn.functional})
    model = torch.nn.TransformerEncoderLayer(4, 2, 8, activation=function).eval()
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    x = np.linspace(-1, 1, 24, dtype="f4").reshape(3, 2, 4)
    a, b = model(torch.from_numpy(x)), facula.load(file)(facula.from_numpy(x))
    np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=1e-4, atol=1e-5)


def test_pytorch_maps_our_files(tmp_path):
    path = tmp_path / "x.pt"
    facula.save([facula.arange(5.0), facula.zeros(0), facula.arange(100)], path)
    from torch.utils.serialization import config

    before = config.load.calculate_storage_offsets
    try:
        for config.load.calculate_storage_offsets in (False, True):
            loaded = torch.load(path, mmap=True)
            assert loaded[0].tolist() == [0, 1, 2, 3, 4]
            assert loaded[2].tolist() == list(range(100))
    finally:
        config.load.calculate_storage_offsets = before


def test_the_archive_is_laid_out_as_pytorch_does(tmp_path):
    def layout(lib):
        path = tmp_path / "same.pt"
        lib.save({"a": lib.arange(5.0), "e": lib.zeros(0), "b": lib.arange(300)}, path)
        with zipfile.ZipFile(path) as zipped:
            return [
                (i.filename, i.header_offset, i.file_size, i.flag_bits, i.CRC)
                for i in zipped.infolist()
                if not i.filename.endswith("serialization_id")
            ]

    assert layout(facula) == layout(torch)


def test_both_refuse_what_is_not_on_their_list():
    file = io.BytesIO()
    torch.save(fractions.Fraction(1, 2), file)
    for lib in (torch, facula):
        file.seek(0)
        with pytest.raises(Exception, match="add_safe_globals") as caught:
            lib.load(file)
        assert "UnpicklingError" in [base.__name__ for base in type(caught.value).__mro__]


def same_state(ours, theirs):
    assert type(ours) is type(theirs) is collections.OrderedDict
    assert list(ours) == list(theirs)
    for name in theirs:
        assert ours[name].dtype is getattr(facula, str(theirs[name].dtype).removeprefix("torch."))
        assert np.array_equal(ours[name].numpy(), theirs[name].numpy()), name


@IS_NEW
def test_a_state_dict_of_the_size_of_pretrained_ones_goes_both_ways(tmp_path, is_new):
    path = tmp_path / "resnet50.pt"
    theirs = torchvision.models.resnet50().eval()
    torch.save(theirs.state_dict(), path, _use_new_zipfile_serialization=is_new)
    loaded = facula.load(path, weights_only=True)
    same_state(loaded, theirs.state_dict())
    ours = facula.vision.models.resnet50().eval()
    ours.load_state_dict(loaded)
    image = np.linspace(-1, 1, 3 * 64 * 64, dtype="f4").reshape(1, 3, 64, 64)
    with torch.no_grad(), facula.no_grad():
        a, b = ours(facula.from_numpy(image)), theirs(torch.from_numpy(image))
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-3, atol=1e-4)
    facula.save(ours.state_dict(), path, _use_new_zipfile_serialization=is_new)
    same_state(ours.state_dict(), torch.load(path, weights_only=True))


def test_half_a_gigabyte_goes_both_ways_mapped(tmp_path):
    path = tmp_path / "vgg16.pt"
    theirs = torchvision.models.vgg16(init_weights=False).state_dict()
    torch.save(theirs, path)
    ours = facula.load(path, weights_only=True, mmap=True)
    same_state(ours, theirs)
    facula.save(ours, path)  # over the file that is mapped, which stays as it was
    same_state(ours, torch.load(path, weights_only=True, mmap=True))


# Helpers of PyTorch's own files, and devices that there are none of here.
NOT_HERE = {
    "SourceChangeWarning",
    "StorageType",
    "check_module_version_greater_or_equal",
    "mkdtemp",
    "normalize_storage_type",
    "storage_to_tensor_type",
    "validate_cuda_device",
    "validate_hpu_device",
}


def test_the_names_of_the_module_are_there():
    there = set(torch.serialization.__all__) - NOT_HERE
    assert there <= set(facula.serialization.__all__)


def test_options_begin_the_same_and_refuse_the_same():
    def outcome(lib):
        module = lib.serialization
        found = [module.get_crc32_options(), module.get_default_mmap_options()]
        found += [module.get_default_load_endianness(), [e.name for e in module.LoadEndianness]]
        calls = [
            lambda: module.set_default_load_endianness("big"),
            lambda: module.set_default_mmap_options(77),
            lambda: module.get_unsafe_globals_in_checkpoint(io.BytesIO(b"junk")),
        ]
        for call in calls:
            with pytest.raises(Exception) as caught:
                call()
            found.append(caught.type)
        return found

    assert outcome(facula) == outcome(torch)


def test_unsafe_globals_are_the_same():
    file = io.BytesIO()
    torch.save([fractions.Fraction(1, 2), collections.Counter(), torch.ones(1)], file)
    found = []
    for lib in (torch, facula):
        file.seek(0)
        found.append(sorted(lib.serialization.get_unsafe_globals_in_checkpoint(file)))
    assert found[0] == found[1] == ["fractions.Fraction"]


@pytest.mark.parametrize("source, target", [(torch, facula), (facula, torch)], ids=["to", "from"])
def test_files_without_checksums_or_data_are_read(source, target):
    x = source.arange(5.0)
    source.serialization.set_crc32_options(False)
    try:
        assert exchange({"x": x}, source, target)["x"].tolist() == [0, 1, 2, 3, 4]
    finally:
        source.serialization.set_crc32_options(True)
    file = io.BytesIO()
    with source.serialization.skip_data():
        source.save({"x": x}, file)
    file.seek(0)
    assert target.load(file)["x"].tolist() == [0] * 5


def test_pytorch_reads_plain_pickles_of_programs(tmp_path: Path) -> None:
    program = """
        import pickle, sys, torch
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
        x = torch.arange(6.0).reshape(2, 3)
        values = [x, x[1], x.bfloat16(), x > 2, net, net.state_dict(), torch.nn.Parameter(x)]
        with open(sys.argv[1], "wb") as file:
            pickle.dump(values, file)
    """
    path = tmp_path / "values.pkl"
    command = [sys.executable, "-m", "facula", "run", "-c", textwrap.dedent(program), str(path)]
    subprocess.run(command, check=True)
    x, row, half, mask, net, state, parameter = pickle.loads(path.read_bytes())
    assert torch.equal(x, torch.arange(6.0).reshape(2, 3))
    assert torch.equal(row, x[1])
    assert torch.equal(half, x.bfloat16())
    assert torch.equal(mask, x > 2)
    assert type(net[0]) is torch.nn.Conv2d
    assert torch.equal(state["0.weight"], net[0].weight)
    assert type(parameter) is torch.nn.Parameter


def test_an_untyped_storage_of_pytorchs_plain_pickles_is_read() -> None:
    _, (data,) = torch.arange(3.0).untyped_storage().__reduce__()
    storage = facula.storage._load_from_bytes(data)
    assert isinstance(storage, facula.UntypedStorage)
    assert storage.tolist() == torch.arange(3.0).untyped_storage().tolist()
