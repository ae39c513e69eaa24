"""Networks against torchvision's: names and shapes, initial weights, results, gradients."""

import inspect

import numpy as np
import pytest

from .vision_oracle import torch, torchvision  # isort: skip

import facula
from facula.vision import models

from .frameworks import convert

pytestmark = pytest.mark.promise("D3")

NAMES = models.list_models(models)
TWINS = torchvision.models

# As small as the network lets an image be, and its output still depend on it.
_SIZES = {"inception_v3": 107, "maxvit_t": 224}


@pytest.fixture
def no_init(monkeypatch):
    """No weights are drawn, so that a network of any size is made at once."""
    for lib in (torch, facula):
        for name in facula.nn.init.__all__:
            if name.endswith("_"):
                monkeypatch.setattr(lib.nn.init, name, lambda tensor, *args, **kwargs: tensor)


def _pair(name, **options):
    options |= {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    pair = []
    for lib, package in ((torch, TWINS), (facula, models)):
        lib.manual_seed(0)
        pair.append(package.get_model(name, **options))
    return pair


def _fill(theirs, ours):
    """Random weights, the same in both, with which no layer's results vanish or explode."""
    numbers = np.random.default_rng(0).standard_normal(1 << 16, dtype=np.float32)
    for name, value in theirs.state_dict().items():
        if value.dtype != torch.float32:
            continue
        drawn = torch.from_numpy(np.resize(numbers, tuple(value.shape)))
        if name.endswith(("running_var", "logit_scale")):
            drawn.abs_().add_(0.5)
        elif value.dim() > 1:
            drawn /= (value[0].numel() / 2) ** 0.5
        else:
            drawn *= 0.1
            drawn += name.endswith("weight")
        value.copy_(drawn)
    ours.load_state_dict(convert(facula, dict(theirs.state_dict())))


def _assert_close(theirs, ours, tolerance):
    theirs, ours = theirs.detach().numpy(), ours.detach().numpy()
    assert theirs.shape == ours.shape and np.isfinite(theirs).all()
    scale = max(np.abs(theirs).max(), 1e-30)
    np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0, atol=tolerance)


def _images(n, size):
    x = np.random.default_rng(1).standard_normal((n, 3, size, size), dtype=np.float32)
    return torch.from_numpy(x), facula.from_numpy(x)


def test_the_same_models_exist():
    names = [name for name in TWINS.list_models() if not name.startswith("quantized")]
    assert models.list_models() == names
    for package in ("detection", "optical_flow", "segmentation", "video"):
        ours, theirs = getattr(models, package), getattr(TWINS, package)
        assert models.list_models(ours) == TWINS.list_models(theirs)
    assert models.list_models(models) == TWINS.list_models(TWINS)


@pytest.mark.parametrize("name", NAMES)
def test_network_has_the_same_layers(name, no_init):
    theirs, ours = _pair(name)
    assert repr(ours) == repr(theirs)
    expected = {key: tuple(value.shape) for key, value in theirs.state_dict().items()}
    found = {key: tuple(value.shape) for key, value in ours.state_dict().items()}
    assert list(found.items()) == list(expected.items())
    assert [key for key, _ in ours.named_parameters()] == [
        key for key, _ in theirs.named_parameters()
    ]


@pytest.mark.parametrize("name", models.list_models())
def test_weights_have_the_same_facts(name):
    theirs, ours = TWINS.get_model_weights(name), models.get_model_weights(name)
    assert (ours.__name__, ours.DEFAULT.name) == (theirs.__name__, theirs.DEFAULT.name)
    assert [member.name for member in ours] == [member.name for member in theirs]
    for member in theirs:
        facts = {key: value for key, value in member.meta.items() if key != "_docs"}
        found = dict(ours[member.name].meta)
        np.testing.assert_equal(found.pop("_metrics"), facts.pop("_metrics"))  # NaN is NaN
        assert found == facts
        assert ours[member.name].url == member.url
        expected, prepare = member.transforms(), ours[member.name].transforms()
        assert type(prepare).__name__ == type(expected).__name__
        for key in ("crop_size", "resize_size", "mean", "std", "interpolation"):
            assert str(getattr(prepare, key, None)) == str(getattr(expected, key, None))


@pytest.mark.parametrize("name", models.list_models())
def test_builder_has_the_same_arguments(name):
    theirs = inspect.signature(TWINS.get_model_builder(name)).parameters
    ours = inspect.signature(models.get_model_builder(name)).parameters
    assert [(p.name, p.kind, str(p.default)) for p in ours.values()] == [
        (p.name, p.kind, str(p.default)) for p in theirs.values()
    ]


# What is larger than these is made of the same layers.
_LARGE = 45e6
_SMALLEST_OF_LARGE = ("alexnet", "vgg11_bn", "vit_b_32")


def _is_compared(name):
    n_params = TWINS.get_model_weights(name).DEFAULT.meta["num_params"]
    return n_params < _LARGE or name in _SMALLEST_OF_LARGE


@pytest.mark.parametrize("name", [name for name in NAMES if _is_compared(name)])
def test_network_gives_the_same_results(name, no_init):
    theirs, ours = _pair(name)
    _fill(theirs, ours)
    size = _SIZES.get(name, max(TWINS.get_model_weights(name).DEFAULT.meta["min_size"][0], 64))
    x, y = _images(1, size)
    # In float64: a deep network with random weights makes much of what rounding differs by.
    with torch.no_grad(), facula.no_grad():
        _assert_close(theirs.double().eval()(x.double()), ours.double().eval()(y.double()), 1e-6)


# The smallest of each kind.
SMALL = [
    "alexnet",
    "convnext_tiny",
    "densenet121",
    "efficientnet_b0",
    "efficientnet_v2_s",
    "googlenet",
    "inception_v3",
    "maxvit_t",
    "mnasnet0_5",
    "mnasnet1_3",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
    "regnet_x_400mf",
    "regnet_y_400mf",
    "resnet18",
    "resnet50",
    "resnext50_32x4d",
    "shufflenet_v2_x0_5",
    "squeezenet1_0",
    "squeezenet1_1",
    "swin_t",
    "swin_v2_t",
    "vit_b_32",
]


@pytest.mark.parametrize("name", SMALL)
def test_same_seed_gives_the_same_initial_weights(name):
    theirs, ours = _pair(name)
    for (key, a), b in zip(theirs.state_dict().items(), ours.state_dict().values(), strict=True):
        assert np.array_equal(a.numpy(), b.numpy()), key


def test_same_seed_gives_the_same_initial_weights_of_vgg():
    for lib in (torch, facula):
        lib.manual_seed(0)
    theirs = TWINS.VGG(TWINS.vgg.make_layers([8, "M", 512], batch_norm=True), num_classes=3)
    ours = models.VGG(models.vgg.make_layers([8, "M", 512], batch_norm=True), num_classes=3)
    for (key, a), b in zip(theirs.state_dict().items(), ours.state_dict().values(), strict=True):
        assert np.array_equal(a.numpy(), b.numpy()), key


TRAINED = [
    ("convnext_tiny", {"layer_scale": 0.5}),
    ("densenet121", {"drop_rate": 0.2, "memory_efficient": True}),
    ("efficientnet_b0", {}),
    ("googlenet", {}),
    ("mnasnet0_5", {}),
    ("mobilenet_v2", {"width_mult": 0.5}),
    ("mobilenet_v3_small", {}),
    ("regnet_y_400mf", {}),
    ("resnet18", {"zero_init_residual": True}),
    ("resnet50", {"replace_stride_with_dilation": [False, True, True]}),
    ("shufflenet_v2_x0_5", {}),
    ("squeezenet1_1", {}),
    ("swin_t", {"attention_dropout": 0.1, "dropout": 0.1}),
    ("swin_v2_t", {"dropout": 0.1}),
]


@pytest.mark.parametrize("name, options", TRAINED)
def test_a_step_of_training_is_the_same(name, options):
    theirs, ours = _pair(name, num_classes=5, **options)
    outputs = []
    for lib, net, images in zip((torch, facula), (theirs, ours), _images(4, 64), strict=True):
        lib.manual_seed(3)  # for the dropouts
        # In float64: batch normalisations of few values make much of what rounding differs by.
        found = net.double()(images.double())
        found = tuple(found) if isinstance(found, tuple) else (found,)
        sum((logits**2).sum() for logits in found).backward()
        outputs.append(found)
    for a, b in zip(*outputs, strict=True):
        _assert_close(a, b, tolerance=1e-9)
    for a, b in zip(theirs.buffers(), ours.buffers(), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-9, atol=1e-12)
    for (key, a), b in zip(theirs.named_parameters(), ours.parameters(), strict=True):
        np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), 1e-6, 1e-9, err_msg=key)


@pytest.mark.parametrize("zipped", [True, False])
def test_weight_file_of_pytorch_is_read_from_the_cache(zipped, tmp_path, monkeypatch):
    monkeypatch.setenv("FACULA_HOME", str(tmp_path))
    cache = tmp_path / "hub" / "checkpoints"
    cache.mkdir(parents=True)
    theirs = TWINS.mobilenet_v3_small().eval()
    file = cache / "mobilenet_v3_small-047dcff4.pth"
    torch.save(theirs.state_dict(), file, _use_new_zipfile_serialization=zipped)
    ours = models.mobilenet_v3_small(weights="DEFAULT").eval()
    x, y = _images(1, 64)
    with torch.no_grad(), facula.no_grad():
        _assert_close(theirs(x), ours(y), tolerance=1e-4)


@pytest.mark.parametrize("name", ["googlenet", "inception_v3", "mnasnet0_5", "shufflenet_v2_x0_5"])
def test_whole_network_of_torchvision_can_be_loaded(name, no_init, tmp_path):
    theirs, ours = _pair(name)
    _fill(theirs, ours)
    torch.save(theirs, tmp_path / "network.pt")
    loaded = facula.load(tmp_path / "network.pt", trusted=True).eval()
    assert type(loaded) is type(ours)
    x = _images(1, 107)[1]
    with facula.no_grad():
        facula.testing.assert_close(loaded(x), ours.eval()(x))
