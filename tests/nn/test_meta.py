"""Modules on the device meta: made, run, loaded and moved from there."""

import inspect

import pytest

import facula
from facula import nn, optim, vision
from facula.nn import init
from facula.utils.flop_counter import FlopCounterMode

pytestmark = pytest.mark.promise("T12")


def on_meta(module):
    tensors = [*module.parameters(), *module.buffers()]
    return bool(tensors) and all(x.is_meta for x in tensors)


MODULES = {
    "Linear": (lambda **o: nn.Linear(4, 3, **o), [(2, 4)]),
    "Bilinear": (lambda **o: nn.Bilinear(4, 3, 2, **o), [(2, 4), (2, 3)]),
    "Conv1d": (lambda **o: nn.Conv1d(3, 4, 3, padding="same", **o), [(2, 3, 8)]),
    "Conv2d": (
        lambda **o: nn.Conv2d(3, 4, 3, padding_mode="reflect", padding=1, **o),
        [(2, 3, 8, 8)],
    ),
    "ConvTranspose2d": (lambda **o: nn.ConvTranspose2d(3, 4, 3, stride=2, **o), [(2, 3, 8, 8)]),
    "BatchNorm2d": (lambda **o: nn.BatchNorm2d(3, **o), [(2, 3, 8, 8)]),
    "GroupNorm": (lambda **o: nn.GroupNorm(2, 4, **o), [(2, 4, 8)]),
    "LayerNorm": (lambda **o: nn.LayerNorm(8, **o), [(2, 8)]),
    "RMSNorm": (lambda **o: nn.RMSNorm(8, **o), [(2, 8)]),
    "InstanceNorm1d": (lambda **o: nn.InstanceNorm1d(3, affine=True, **o), [(2, 3, 8)]),
    "PReLU": (lambda **o: nn.PReLU(3, **o), [(2, 3)]),
    "RNN": (lambda **o: nn.RNN(4, 3, 2, **o), [(5, 2, 4)]),
    "LSTM": (lambda **o: nn.LSTM(4, 3, 2, bidirectional=True, **o), [(5, 2, 4)]),
    "GRU": (lambda **o: nn.GRU(4, 3, batch_first=True, **o), [(2, 5, 4)]),
    "LSTMCell": (lambda **o: nn.LSTMCell(4, 3, **o), [(2, 4)]),
    "MultiheadAttention": (lambda **o: nn.MultiheadAttention(8, 2, **o), [(5, 2, 8)] * 3),
    "Transformer": (
        lambda **o: nn.Transformer(8, 2, 2, 2, 16, batch_first=True, **o),
        [(2, 5, 8), (2, 4, 8)],
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_made_and_run_on_meta(name):
    make, shapes = MODULES[name]
    module, expected = make(device="meta"), make()
    assert on_meta(module) and repr(module) == repr(expected)
    results = [
        m(*[facula.ones(shape, device=device) for shape in shapes])
        for m, device in ((module, "meta"), (expected, "cpu"))
    ]
    flat, wanted = ([r] if isinstance(r, facula.Tensor) else list(r) for r in results)
    if isinstance(wanted[-1], tuple):  # the states of an LSTM
        flat, wanted = [flat[0], *flat[1]], [wanted[0], *wanted[1]]
    assert [(y.shape, y.stride(), y.dtype) for y in flat] == [
        (y.shape, y.stride(), y.dtype) for y in wanted
    ]
    assert all(y.is_meta for y in flat)
    flat[0].sum().backward()
    for p, q in zip(module.parameters(), expected.parameters(), strict=True):
        assert p.shape == q.shape and (p.grad is None or p.grad.is_meta)


def test_packed_sequences_run_on_meta():
    x = facula.ones(5, 2, 4, device="meta")
    packed = nn.utils.rnn.pack_padded_sequence(x, [5, 3])
    assert packed.data.is_meta and packed.data.shape == (8, 4)
    assert packed.batch_sizes.tolist() == [2, 2, 2, 1, 1]
    y, (h, c) = nn.LSTM(4, 3, device="meta")(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(y)
    assert padded.is_meta and padded.shape == (5, 2, 3) and lengths.tolist() == [5, 3]
    assert h.is_meta and c.shape == (1, 2, 3)


def test_every_module_that_takes_a_device_has_its_tensors_there():
    arguments = {
        "AdaptiveLogSoftmaxWithLoss": (16, 10, [2, 5]),
        "BatchNorm1d": (3,),
        "LayerNorm": (3,),
        "RMSNorm": (3,),
        "PReLU": (),
        "RNNBase": ("LSTM", 3, 4),
        "GroupNorm": (2, 4),
        "Bilinear": (2, 3, 4),
        "Transformer": (8, 2, 1, 1, 8),
        "TransformerEncoderLayer": (8, 2),
        "TransformerDecoderLayer": (8, 2),
        "MultiheadAttention": (8, 2),
        "RNNCellBase": (3, 4, True, 1),
        "BatchNorm2d": (3,),
        "BatchNorm3d": (3,),
        "SyncBatchNorm": (3,),
    }
    n_seen = 0
    for name, cls in vars(nn).items():
        if not inspect.isclass(cls) or not issubclass(cls, nn.Module):
            continue
        if "device" not in inspect.signature(cls).parameters or name.startswith("Lazy"):
            continue
        given = arguments.get(
            name, (3,) if "Norm" in name else (4, 4, 3) if "Conv" in name else (4, 4)
        )
        n_seen += 1
        tensors = list(cls(*given, device="meta").state_dict().values())
        assert all(x.is_meta for x in tensors), name
    assert n_seen > 30


def test_initialisers_leave_tensors_of_meta_alone():
    state = facula.get_rng_state()
    w = facula.empty(4, 5, device="meta")
    for name in init.__all__:
        function = getattr(init, name)
        if not name.endswith("_") or name == "dirac_":
            continue
        extra = {"constant_": (1.0,), "sparse_": (0.5,)}.get(name, ())
        assert function(w, *extra) is w, name
    init.dirac_(facula.empty(2, 3, 4, device="meta"))
    assert bool((facula.get_rng_state() == state).all())


def test_to_empty_gives_memory():
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).to("meta")
    assert on_meta(module)
    shapes = {name: x.shape for name, x in module.state_dict().items()}
    assert module.to_empty(device="cpu") is module
    assert {name: x.shape for name, x in module.state_dict().items()} == shapes
    assert not any(x.is_meta for x in module.state_dict().values())
    outer = nn.Sequential(nn.Linear(2, 3, device="meta"))
    outer.register_buffer("own", facula.ones(2, device="meta"))
    outer.to_empty(device="cpu", recurse=False)
    assert outer.own.is_cpu and outer[0].weight.is_meta


def test_a_module_cannot_take_values_from_meta():
    module = nn.Linear(2, 3, device="meta")
    with pytest.raises(
        NotImplementedError, match=r"Cannot copy out of meta tensor; no data! .*to_empty"
    ):
        module.to("cpu")
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        module.cpu()
    assert on_meta(module.to("meta")) and on_meta(module.double())


def test_skip_init_makes_modules_by_way_of_meta():
    state = facula.get_rng_state()
    module = nn.utils.skip_init(nn.Linear, 2, 3)
    assert module.weight.is_cpu and module.weight.shape == (3, 2)
    assert on_meta(nn.utils.skip_init(nn.Linear, 2, 3, device="meta"))
    assert bool((facula.get_rng_state() == state).all())


def test_load_state_dict_assigns_to_modules_on_meta():
    source = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    with facula.device("meta"):
        module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    module.load_state_dict(source.state_dict(), assign=True)
    assert isinstance(module[0].weight, nn.Parameter) and module[0].weight.requires_grad
    assert facula.equal(module[0].weight, source[0].weight)
    x = facula.ones(4, 2)
    assert facula.equal(module.eval()(x), source.eval()(x))


def test_load_state_dict_without_assign_warns_that_nothing_happens():
    module = nn.Linear(2, 3, bias=False, device="meta")
    with pytest.warns(UserWarning, match=r"for weight: copying from a non-meta parameter"):
        module.load_state_dict(nn.Linear(2, 3, bias=False).state_dict())
    assert on_meta(module)
    with pytest.raises(RuntimeError, match=r"weight.*Cannot copy out of meta tensor"):
        nn.Linear(2, 3, bias=False).load_state_dict(module.state_dict())


def test_parameters_can_be_moved_to_meta_as_they_are_registered(monkeypatch):
    """What accelerate's ``init_empty_weights`` does."""
    register = nn.Module.register_parameter

    def register_empty(module, name, param):
        register(module, name, param)
        if param is not None:
            made = module._parameters[name]
            options = {**made.__dict__, "requires_grad": param.requires_grad}
            module._parameters[name] = type(made)(made.to("meta"), **options)

    monkeypatch.setattr(nn.Module, "register_parameter", register_empty)
    assert all(p.is_meta for p in nn.TransformerEncoderLayer(8, 2).parameters())


OPTIMISERS = [cls for cls in vars(optim).values() if inspect.isclass(cls)]
OPTIMISERS = [c for c in OPTIMISERS if issubclass(c, optim.Optimizer) and c is not optim.Optimizer]


@pytest.mark.parametrize("cls", OPTIMISERS)
def test_optimisers_step_over_parameters_on_meta(cls):
    if cls in (optim.LBFGS, optim.SparseAdam, optim.Adafactor):
        pytest.skip("looks at values, or needs sparse gradients")
    params = [nn.Parameter(facula.ones(4, 3, device="meta"))]
    optimiser = cls(params, lr=0.1)
    for _ in range(2):
        params[0].square().sum().backward()
        optimiser.step()
        optimiser.zero_grad()
    states = [x for x in optimiser.state[params[0]].values() if isinstance(x, facula.Tensor)]
    assert all(x.is_meta for x in states if x.dim() > 0)


@pytest.mark.parametrize(
    "name", ["resnet50", "mobilenet_v3_small", "densenet121", "vit_b_16", "swin_t", "convnext_tiny"]
)
def test_vision_models_run_on_meta(name):
    with facula.device("meta"):
        model = vision.models.get_model(name)
        y = model(facula.rand(2, 3, 224, 224))
    assert on_meta(model) and y.is_meta and y.shape == (2, 1000)
    y.sum().backward()
    assert all(p.grad is None or p.grad.is_meta for p in model.parameters())


def test_the_counter_of_operations_counts_on_meta():
    counts = []
    for device in ("cpu", "meta"):
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(288, 5)).to(device)
        with FlopCounterMode(display=False) as counter:
            model(facula.ones(2, 3, 8, 8, device=device)).sum().backward()
        counts.append(counter.get_total_flops())
    assert counts[0] == counts[1] > 0


def test_windows_over_images_of_any_size_have_a_shape():
    x = facula.empty(1, 64, 8192, 8192, device="meta").to(memory_format=facula.channels_last)
    assert facula.nn.functional.max_pool2d(x, 2).shape == (1, 64, 4096, 4096)
    y = facula.empty(1, 1, 2, 2, device="meta")
    assert facula.nn.functional.interpolate(y, size=(80000, 80000)).shape == (1, 1, 80000, 80000)
