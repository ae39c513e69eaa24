"""Whole modules of our own classes load without trust, and run nothing that a file brings."""

import contextlib
import copy
import functools
import io
import os
import pickle
import subprocess
import sys

import hostile_files
import pytest
from hypothesis import given
from hypothesis import strategies as st

import facula
import facula.nn.functional as F
from facula import nn
from facula.serialization import CheckpointError, _modules
from facula.vision import models, ops, transforms

# The old forms of weight and spectral norm are what files of others have.
pytestmark = [pytest.mark.promise("P3"), pytest.mark.filterwarnings("ignore:weight_norm")]

LAYER = {"d_model": 4, "nhead": 2, "dim_feedforward": 8, "batch_first": True}
# A network, and the shape of what it takes.
NETWORKS = {
    "layers": lambda: (nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.ReLU()), (5, 3)),
    "recurrent": lambda: (nn.LSTM(3, 2, 2, bidirectional=True), (4, 1, 3)),
    "convolutions": lambda: (nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2)), (1, 1, 6, 6)),
    "activation": lambda: (nn.TransformerEncoderLayer(**LAYER, activation=F.gelu), (1, 3, 4)),
    "activation of facula": lambda: (
        nn.TransformerEncoderLayer(**LAYER, activation=facula.tanh),
        (1, 3, 4),
    ),
    "encoder": lambda: (
        nn.TransformerEncoder(nn.TransformerEncoderLayer(**LAYER), 2),
        (1, 3, 4),
    ),
    "weight norm": lambda: (nn.utils.weight_norm(nn.Linear(3, 2)), (1, 3)),
    "spectral norm": lambda: (nn.utils.spectral_norm(nn.Linear(3, 2)), (1, 3)),
    "pruned": lambda: (nn.utils.prune.l1_unstructured(nn.Linear(3, 2), "weight", 2), (1, 3)),
    "padding": lambda: (nn.Sequential(nn.ZeroPad2d(1), nn.Upsample(scale_factor=2)), (1, 1, 3, 3)),
    "vision transformer": lambda: (
        models.VisionTransformer(16, 8, 1, 2, 8, 16, num_classes=3),
        (1, 3, 16, 16),
    ),
    "vision network": lambda: (models.shufflenet_v2_x0_5(num_classes=3), (1, 3, 32, 32)),
    "transforms": lambda: (
        nn.Sequential(transforms.CenterCrop(4), transforms.Normalize([0.5], [0.5])),
        (1, 6, 6),
    ),
}


def saved(value):
    file = io.BytesIO()
    facula.save(value, file)
    file.seek(0)
    return file


def first(value):
    return value[0] if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", NETWORKS)
def test_a_module_of_our_classes_loads_without_trust(name):
    model, shape = NETWORKS[name]()
    model.eval()
    loaded = facula.load(saved(model))
    x = facula.randn(shape)
    assert type(loaded) is type(model)
    assert facula.equal(first(loaded(x)), first(model(x)))
    assert [n for n, _ in loaded.named_parameters()] == [n for n, _ in model.named_parameters()]
    assert all(p.requires_grad for p in loaded.parameters())


def test_a_loaded_module_is_whole():
    model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
    loaded = facula.load(saved(model))
    assert loaded.training
    assert repr(loaded) == repr(model)
    calls = []
    loaded.register_forward_hook(lambda *args: calls.append(len(args)))
    loaded(facula.ones(1, 3)).sum().backward()
    assert calls == [3]
    loaded.more = nn.Linear(2, 2)
    assert len(loaded.state_dict()) == 4


def test_modules_may_lie_in_containers_and_share_parts():
    shared = nn.Linear(2, 2)
    loaded = facula.load(saved({"models": [nn.Sequential(shared), nn.Sequential(shared)], "n": 1}))
    assert loaded["models"][0][0] is loaded["models"][1][0]


def test_the_old_format_has_modules_as_well():
    file = io.BytesIO()
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval()
    facula.save(model, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert facula.equal(facula.load(file)(facula.ones(1, 3)), model(facula.ones(1, 3)))


def test_helpers_and_enumerations_load():
    model = nn.Module()
    model.pool = ops.MultiScaleRoIAlign(["0"], 2, 2)
    model.resize = transforms.Resize(4, transforms.InterpolationMode.NEAREST)
    model.norm = functools.partial(nn.LayerNorm, eps=1e-3)
    loaded = facula.load(saved(model))
    assert loaded.resize.interpolation is transforms.InterpolationMode.NEAREST
    assert loaded.norm(4).eps == 1e-3
    assert repr(loaded.pool) == repr(model.pool)


class Foreign(nn.Module):
    def forward(self, input):
        return input


def act(input):
    return input


@pytest.mark.parametrize(
    "model, name",
    [
        (lambda: Foreign(), "Foreign"),
        (lambda: nn.Sequential(nn.Linear(1, 1), Foreign()), "Foreign"),
        (lambda: nn.TransformerEncoderLayer(4, 2, activation=act), "act"),
    ],
)
def test_a_class_or_function_of_others_is_named_with_what_to_do(model, name):
    told = rf"the file names [\w.]*{name}, which is not on the list.*add_safe_globals\(\[{name}\]\)"
    with pytest.raises(CheckpointError, match=told + r".*GLOBAL [\w.]+ was not an allowed global"):
        facula.load(saved(model()))


def test_a_module_with_parts_of_an_allowed_class_loads():
    model = nn.Sequential(nn.Linear(2, 2), Foreign())
    with facula.serialization.safe_globals([Foreign]):
        loaded = facula.load(saved(model))
    assert type(loaded[1]) is Foreign
    assert facula.equal(loaded(facula.ones(1, 2)), model(facula.ones(1, 2)))


def test_the_list_has_classes_of_our_files_only():
    for path in _modules._files():
        assert path.startswith(_modules._PACKAGES)
    assert _modules.is_class(nn.Linear)
    assert not _modules.is_class(Foreign)
    assert not _modules.is_class(facula.Tensor)
    Foreign.__module__, kept = "facula.nn.modules.linear", Foreign.__module__
    try:
        assert _modules.find("torch.nn.modules.linear", "Foreign") is None
    finally:
        Foreign.__module__ = kept


def test_the_list_is_not_made_at_import():
    program = (
        "import facula, sys; from facula.serialization import _modules; "
        "assert not _modules._files.cache_info().currsize; "
        "assert not [m for m in sys.modules if m.startswith('facula.vision')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_file_changes_no_class():
    part = hostile_files.text("_modules") + b"}" + hostile_files.text("part_of_a_file")
    identity = hostile_files.name("torch.nn.modules.linear", "Identity")
    inner = hostile_files.made(identity)
    data = hostile_files.archive(hostile_files.made(identity, part + inner + b"s") + b".")
    loaded = facula.load(io.BytesIO(data))
    assert "part_of_a_file" not in vars(nn.Identity)
    assert type(loaded.part_of_a_file) is nn.Identity
    assert not hasattr(nn.Identity(), "part_of_a_file")
    for copied in (copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        assert type(copied.part_of_a_file) is nn.Identity
    assert "part_of_a_file" not in vars(nn.Identity)


def test_the_usual_parts_of_a_copy_are_read_from_the_class():
    program = (
        "import copy, facula; from facula.nn import Linear\n"
        "layer = object.__new__(Linear)\n"
        "layer.__setstate__({'_parameters': {'weight': None, 'bias': None, 'other': None}})\n"
        "print([name for name in ('weight', 'bias', 'other') if name in vars(Linear)])"
    )
    out = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert out.stdout == b"['weight', 'bias']\n"


def test_a_private_name_may_hold_a_known_class_and_what_the_user_allows():
    model = models.resnet.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=2)
    assert facula.load(saved(model))._norm_layer is nn.BatchNorm2d
    layer = nn.Identity()
    layer._own = os.path.join
    with pytest.raises(CheckpointError, match="join"):
        facula.load(saved(layer))
    with facula.serialization.safe_globals([os.path.join]):
        assert facula.load(saved(layer))._own is os.path.join


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("call_a_dtype", "an object of type dtype is called, which no checkpoint does"),
        ("call_a_tensor_class", "the class Tensor is called, which no checkpoint does"),
        ("module_with_a_list_for_a_state", "Linear: expected a dict as the state, got an object"),
        ("module_with_two_states", "Linear: expected one state, got a second one"),
        ("module_with_a_function_as_a_hook", "Linear: _forward_hooks has an object of type"),
        ("module_with_parts_in_a_list", "Linear: expected a dict as _modules, got an object of"),
        ("module_with_a_private_function", "that a file may give it as '_get_backward_hooks'"),
        ("module_with_another_call", "'_call_impl' is no attribute that a file may give it"),
        ("recurrent_layer_with_a_tensor_of_names", "LSTM: _all_weights has an object of type Ten"),
    ],
)
def test_refusals_are_sentences(name, message):
    with pytest.raises(CheckpointError, match=message):
        facula.load(io.BytesIO(hostile_files.corpus()[name]))


def test_a_refused_file_leaves_no_object_half_made():
    relu = hostile_files.name("torch.nn.functional", "relu")
    linear = hostile_files.name("torch.nn.modules.linear", "Linear")
    good = hostile_files.made(linear, hostile_files.text("in_features"), b"K\1")
    bad = hostile_files.made(linear, hostile_files.text("forward"), relu)
    with pytest.raises(CheckpointError, match="'forward' is no attribute that a file may give"):
        facula.load(io.BytesIO(hostile_files.archive(good + bad + b"\x86.")))


def pickle_of(model):
    data = saved(model).getvalue()
    from facula.serialization._source import Budget, StreamSource
    from facula.serialization._zip_reader import ZipReader

    reader = ZipReader(StreamSource(io.BytesIO(data)), Budget(1 << 30))
    records = [name for name in reader.records if name.startswith("data/")]
    return reader.read("data.pkl"), {n.removeprefix("data/"): reader.read(n) for n in records}


PICKLE, RECORDS = pickle_of(
    nn.Sequential(nn.Linear(2, 2), nn.utils.prune.l1_unstructured(nn.Linear(2, 1), "weight", 1))
)


@given(st.data())
def test_a_changed_file_of_a_module_gives_an_object_or_the_one_exception(data):
    changed = bytearray(PICKLE)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(PICKLE) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CheckpointError):
        facula.load(io.BytesIO(hostile_files.archive(bytes(changed), RECORDS)))


# Every attribute of every network takes values that no constructor would let through; whatever
# the network then does, it raises or it computes. A crash ends the process.
MISUSE = """
import io, resource, sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import facula, test_modules
from facula import nn
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
VALUES = [None, True, -1, 0, 7, 1 << 40, -(1 << 62), 0.5, float("nan"), "x", "tanh", (), (0, 0),
          (-1, 1 << 33), [2], {}, nn.functional.relu, nn.Linear, facula.ones(3), facula.zeros(0),
          facula.float64, nn.Identity()]
facula.set_num_threads(1)
n_loaded = n_ran = 0
for name in sys.argv[3:]:
    model, shape = test_modules.NETWORKS[name]()
    for module in list(model.modules()):
        for attribute in [a for a in vars(module) if not a.startswith("_") or a[1:2].isalpha()]:
            kept = vars(module)[attribute]
            for value in VALUES:
                vars(module)[attribute] = value
                file = io.BytesIO()
                try:
                    facula.save(model, file)
                    file.seek(0)
                    loaded = facula.load(file)
                except Exception:
                    continue
                n_loaded += 1
                try:
                    loaded(facula.ones(shape))
                    n_ran += 1
                except Exception:
                    pass
            vars(module)[attribute] = kept
print(n_loaded, n_ran)
"""


@pytest.mark.parametrize("name", ["layers", "recurrent", "convolutions", "activation", "padding"])
def test_no_attribute_of_a_file_crashes_a_module(name):
    here = hostile_files.__file__.rpartition("/")[0]
    folders = [f"{here}/serialization", here]
    command = [sys.executable, "-c", MISUSE, *folders, name]
    n_loaded, n_ran = map(int, subprocess.check_output(command, text=True, timeout=500).split())
    assert n_loaded > 100
    assert n_ran > 20
