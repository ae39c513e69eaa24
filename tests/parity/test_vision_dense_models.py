"""Networks for segmentation and video, and parts of networks, against torchvision's."""

import inspect

import numpy as np
import pytest

from .vision_oracle import torch, torchvision  # isort: skip

import facula
from facula.vision import models
from facula.vision.models import swin_transformer, vision_transformer

from . import test_vision_models as classification
from .test_vision_models import _assert_close, _fill, _images, _pair, no_init  # noqa: F401

TWINS = torchvision.models

SEGMENTATION = TWINS.list_models(TWINS.segmentation)
_SEEDED = ["deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"]
VIDEO = [name for name in TWINS.list_models(TWINS.video) if not name.startswith("mvit")]

# As small as the network lets a video be.
_VIDEOS = {"s3d": (13, 209, 209)}


def test_the_same_models_exist():
    assert models.list_models(models.segmentation) == SEGMENTATION
    assert models.list_models(models.video) == VIDEO


@pytest.mark.parametrize("name", SEGMENTATION + VIDEO)
def test_weights_have_the_same_facts(name):
    classification.test_weights_have_the_same_facts(name)


@pytest.mark.parametrize("name", SEGMENTATION + VIDEO)
def test_builder_has_the_same_arguments(name):
    def describe(package):
        parameters = inspect.signature(package.get_model_builder(name)).parameters
        return [(p.name, p.kind, str(p.default)) for p in parameters.values()]

    assert describe(models) == describe(TWINS)


@pytest.mark.parametrize("name", VIDEO)
def test_video_gives_the_same_results(name, no_init):  # noqa: F811
    theirs, ours = _pair(name)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    if name in ("swin3d_b", "swin3d_s"):
        return  # too large for a small machine, and their layers are those of a smaller one
    _fill(theirs, ours)
    x = np.random.default_rng(1).standard_normal((1, 3, *_VIDEOS.get(name, (4, 40, 32))))
    with torch.no_grad(), facula.no_grad():
        expected = theirs.double().eval()(torch.tensor(x))
        _assert_close(expected, ours.double().eval()(facula.tensor(x)), 1e-6)


@pytest.mark.parametrize("name", SEGMENTATION)
def test_segmentation_gives_the_same_results(name, no_init):  # noqa: F811
    options = {} if name.startswith("lraspp") else {"aux_loss": True}
    theirs, ours = _pair(name, weights_backbone=None, num_classes=3, **options)
    assert repr(ours) == repr(theirs)
    _fill(theirs, ours)
    x, y = _images(1, 48)
    with torch.no_grad(), facula.no_grad():
        expected, found = theirs.double().eval()(x.double()), ours.double().eval()(y.double())
    assert list(found) == list(expected)
    for key in expected:
        _assert_close(expected[key], found[key], 1e-6)


@pytest.mark.parametrize("name", [*_SEEDED, "mc3_18", "s3d", "swin3d_t"])
def test_same_seed_gives_the_same_initial_weights(name):
    theirs, ours = _pair(name, **({"weights_backbone": None} if name in _SEEDED else {}))
    for (key, a), b in zip(theirs.state_dict().items(), ours.state_dict().values(), strict=True):
        assert np.array_equal(a.numpy(), b.numpy()), key


def _tiny_vit(library, **changes):
    sizes = {"image_size": 32, "patch_size": 8, "num_layers": 2, "num_heads": 2}
    return library.VisionTransformer(
        **{**sizes, "hidden_dim": 8, "mlp_dim": 16, "num_classes": 3, **changes}
    )


def _stems(library):
    return [library.ConvStemConfig(4, 3, 2), library.ConvStemConfig(6, 3, 4)]


@pytest.mark.parametrize("options", ["dropout", "representation", "stem"])
def test_a_step_of_training_of_a_small_vit_is_the_same(options):
    outputs, nets = [], []
    for lib, part, x in zip(
        (torch, facula), (TWINS.vision_transformer, vision_transformer), _images(2, 32), strict=True
    ):
        lib.manual_seed(0)
        changes = {
            "dropout": {"dropout": 0.2, "attention_dropout": 0.2},
            "representation": {"representation_size": 4},
            "stem": {"conv_stem_configs": _stems(part)},
        }[options]
        net = _tiny_vit(part, **changes)
        lib.nn.init.normal_(net.heads.head.weight)
        out = net.double()(x.double())
        (out**2).sum().backward()
        outputs.append(out)
        nets.append(net)
    _assert_close(*outputs, tolerance=1e-9)
    for (key, a), b in zip(nets[0].named_parameters(), nets[1].parameters(), strict=True):
        np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), 1e-6, 1e-9, err_msg=key)


@pytest.mark.parametrize("mode", ["bicubic", "bilinear"])
def test_positions_are_resampled_alike(mode):
    states = []
    for lib, part in ((torch, TWINS.vision_transformer), (facula, vision_transformer)):
        lib.manual_seed(0)
        state = _tiny_vit(part).state_dict()
        states.append(part.interpolate_embeddings(48, 8, state, mode, reset_heads=True))
    assert list(states[0]) == list(states[1])
    _assert_close(*(state["encoder.pos_embedding"] for state in states), tolerance=1e-6)


@pytest.mark.parametrize("size", [(8, 8), (7, 5), (3, 9)])
@pytest.mark.parametrize("shift", [[0, 0], [1, 2]])
@pytest.mark.parametrize("has_scale", [False, True])
def test_shifted_windows_attend_alike(size, shift, has_scale):
    rng = np.random.default_rng(0)
    shapes = [(2, *size, 6), (18, 6), (6, 6), (1, 2, 12, 12), (18,), (6,), (2, 1, 1)]
    arrays = [rng.standard_normal(shape) for shape in shapes]
    results = []
    for lib, part in ((torch, TWINS.swin_transformer), (facula, swin_transformer)):
        x, qkv, proj, bias, qkv_bias, proj_bias, scale = (lib.tensor(a) for a in arrays)
        scale = scale if has_scale else None
        lib.manual_seed(0)
        results.append(
            part.shifted_window_attention(
                x, qkv, proj, bias, [3, 4], 2, shift, 0.2, 0.1, qkv_bias, proj_bias, scale
            )
        )
    _assert_close(*results, tolerance=1e-9)
