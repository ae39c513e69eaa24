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
VIDEO = TWINS.list_models(TWINS.video)
FLOW = TWINS.list_models(TWINS.optical_flow)

# As small as the network lets a video be.
_VIDEOS = {"s3d": (13, 209, 209)}


def test_the_same_models_exist():
    assert models.list_models(models.segmentation) == SEGMENTATION
    assert models.list_models(models.video) == VIDEO
    assert models.list_models(models.optical_flow) == FLOW


@pytest.mark.parametrize("name", SEGMENTATION + VIDEO)
def test_weights_have_the_same_facts(name):
    classification.test_weights_have_the_same_facts(name)


@pytest.mark.parametrize("name", FLOW)
def test_weights_of_flow_have_the_same_facts(name):
    theirs, ours = TWINS.get_model_weights(name), models.get_model_weights(name)
    assert [str(member) for member in ours] == [str(member) for member in theirs]
    assert ours.DEFAULT.name == theirs.DEFAULT.name
    for member in theirs:
        assert ours[member.name].url == member.url
        assert ours[member.name].meta == {k: v for k, v in member.meta.items() if k != "_docs"}


@pytest.mark.parametrize("name", SEGMENTATION + VIDEO + FLOW)
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
    if name in ("swin3d_b", "swin3d_s") or name.startswith("mvit"):
        return  # too large for a small machine: smaller ones have the same layers
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


@pytest.mark.parametrize("name", [*_SEEDED, "mc3_18", "mvit_v2_s", "raft_small", "s3d", "swin3d_t"])
def test_same_seed_gives_the_same_initial_weights(name):
    theirs, ours = _pair(name, **({"weights_backbone": None} if name in _SEEDED else {}))
    for (key, a), b in zip(theirs.state_dict().items(), ours.state_dict().values(), strict=True):
        assert np.array_equal(a.numpy(), b.numpy()), key


@pytest.mark.parametrize("name", FLOW)
def test_flow_is_the_same(name):
    theirs, ours = _pair(name)
    assert repr(ours) == repr(theirs)
    images = np.random.default_rng(0).uniform(-1, 1, (2, 1, 3, 128, 136)).astype(np.float32)
    with torch.no_grad(), facula.no_grad():
        expected = theirs.eval()(*torch.tensor(images), num_flow_updates=3)
        found = ours.eval()(*facula.tensor(images), num_flow_updates=3)
    assert len(found) == len(expected) == 3
    for a, b in zip(expected, found, strict=True):
        _assert_close(a, b, 1e-4)


def test_gradients_of_flow_are_the_same():
    theirs, ours = _pair("raft_small")
    images = np.random.default_rng(0).uniform(-1, 1, (2, 1, 3, 128, 128)).astype(np.float32)
    for net, pair in ((theirs, torch.tensor(images)), (ours, facula.tensor(images))):
        sum((flow**2).mean() for flow in net(*pair, num_flow_updates=2)).backward()
    largest = max(p.grad.abs().max().item() for p in theirs.parameters())
    for (key, a), b in zip(theirs.named_parameters(), ours.parameters(), strict=True):
        np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), 0, 1e-4 * largest, err_msg=key)


_BLOCKS = [  # heads, channels before and after, kernels and strides of queries, those of keys
    (1, 8, 16, [], [3, 3, 3], [], [1, 2, 2]),
    (2, 16, 16, [3, 3, 3], [3, 3, 3], [1, 2, 2], [1, 1, 1]),
]


@pytest.mark.parametrize("size", [(4, 32, 32), (4, 48, 32)])
@pytest.mark.parametrize("version", [1, 2])
def test_a_step_of_training_of_a_small_mvit_is_the_same(version, size):
    # In version 2 heads are as wide as the result.
    blocks = (
        _BLOCKS
        if version == 1
        else [
            (2, 8, 8, [3] * 3, [3] * 3, [1, 1, 1], [1, 2, 2]),
            (2, 8, 16, [3] * 3, [3] * 3, [1, 2, 2], [1, 1, 1]),
        ]
    )
    x = np.random.default_rng(0).standard_normal((2, 3, *size))
    nets, outputs = [], []
    for lib, part in ((torch, TWINS.video.mvit), (facula, models.video.mvit)):
        lib.manual_seed(0)
        net = part.MViT(
            size[1:],
            size[0],
            [part.MSBlockConfig(*block) for block in blocks],
            residual_pool=version == 2,
            residual_with_cls_embed=size[1] == 48,
            rel_pos_embed=version == 2,
            proj_after_attn=version == 2,
            attention_dropout=0.1,
            stochastic_depth_prob=0.2,
            num_classes=3,
        )
        out = net.double()(lib.tensor(x))
        (out**2).sum().backward()
        nets.append(net)
        outputs.append(out)
    assert repr(nets[0]) == repr(nets[1])
    _assert_close(*outputs, tolerance=1e-9)
    for (key, a), b in zip(nets[0].named_parameters(), nets[1].parameters(), strict=True):
        np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), 1e-6, 1e-9, err_msg=key)


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
