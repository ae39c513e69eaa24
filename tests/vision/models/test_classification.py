import pytest

import facula
from facula import nn
from facula.vision import models
from facula.vision.models import mnasnet, mobilenetv2, mobilenetv3, shufflenetv2

pytestmark = pytest.mark.promise("D3")

# Trained with auxiliary outputs, but published without them.
_OPTIONS = {"googlenet": {"aux_logits": False}}


@pytest.fixture
def no_init(monkeypatch):
    """Weights are not drawn: to count a model takes a moment, whatever its size."""
    for name in nn.init.__all__:
        if name.endswith("_"):
            monkeypatch.setattr(nn.init, name, lambda tensor, *args, **kwargs: tensor)


@pytest.mark.parametrize("name", models.list_models(models))
def test_model_has_as_many_parameters_as_published(name, no_init):
    for weights in models.get_model_weights(name):
        size = weights.meta["min_size"][0]
        # The position embeddings of a ViT depend on the size of its images.
        options = {"image_size": size} if name.startswith("vit") else _OPTIONS.get(name, {})
        net = models.get_model(name, **options)
        assert sum(p.numel() for p in net.parameters()) == weights.meta["num_params"]


SMALL = {
    "alexnet": 63,
    "densenet121": 29,
    "googlenet": 15,
    "mnasnet0_5": 1,
    "mobilenet_v2": 1,
    "mobilenet_v3_small": 1,
    "resnet18": 1,
    "resnext50_32x4d": 1,
    "shufflenet_v2_x0_5": 1,
    "squeezenet1_0": 21,
    "squeezenet1_1": 17,
}


@pytest.mark.parametrize("name", SMALL)
def test_model_takes_its_smallest_image(name):
    size = SMALL[name]
    assert models.get_model_weights(name).DEFAULT.meta["min_size"] == (size, size)
    net = models.get_model(name, num_classes=7).eval()
    with facula.no_grad():
        y = net(facula.randn(2, 3, size, size))
    assert y.shape == (2, 7) and y.isfinite().all()


def test_model_is_differentiable_to_its_first_layer():
    net = models.mobilenet_v3_small(num_classes=3)
    net(facula.randn(2, 3, 32, 32)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())


@pytest.mark.parametrize(
    "error, text, build",
    [
        (ValueError, r"replace_stride_with_dilation .* three bools, got \[True\]", lambda: (
            models.resnet50(replace_stride_with_dilation=[True])
        )),
        (ValueError, r"BasicBlock: expected groups=1 and base_width=64", lambda: (
            models.resnet18(groups=2)
        )),
        (NotImplementedError, r"BasicBlock: expected dilation=1, got 2", lambda: (
            models.resnet18(replace_stride_with_dilation=[False, False, True])
        )),
        (ValueError, r"version should be '1_0' or '1_1', got '2'", lambda: models.SqueezeNet("2")),
        (ValueError, r"expected 7 inception_blocks, got 1", lambda: (
            models.Inception3(inception_blocks=[nn.Linear])
        )),
        (ValueError, r"expected 3 blocks, got 1", lambda: models.GoogLeNet(blocks=[nn.Linear])),
        (ValueError, r"expected 3 stages_repeats, got \[4\]", lambda: (
            models.ShuffleNetV2([4], [1, 2, 3, 4, 5])
        )),
        (ValueError, r"expected 5 stages_out_channels", lambda: (
            models.ShuffleNetV2([4, 4, 4], [1])
        )),
        (ValueError, r"stride should be 1, 2 or 3, got 4", lambda: (
            shufflenetv2.InvertedResidual(8, 8, 4)
        )),
        (ValueError, r"should be equal and even, got 8 and 10", lambda: (
            shufflenetv2.InvertedResidual(8, 10, 1)
        )),
        (ValueError, r"list of \(expansion, channels, repeats, stride\), got \[\]", lambda: (
            models.MobileNetV2(inverted_residual_setting=[])
        )),
        (ValueError, r"stride should be 1 or 2, got 3", lambda: (
            mobilenetv2.InvertedResidual(8, 8, 3, 1)
        )),
        (ValueError, r"inverted_residual_setting is empty", lambda: models.MobileNetV3([], 8)),
        (TypeError, r"list of InvertedResidualConfig, got \[1\]", lambda: (
            models.MobileNetV3([1], 8)
        )),
        (ValueError, r"stride should be 1 or 2, got 3", lambda: (
            mobilenetv3.InvertedResidual(
                mobilenetv3.InvertedResidualConfig(8, 3, 8, 8, False, "RE", 3, 1, 1.0),
                nn.BatchNorm2d,
            )
        )),
        (ValueError, r"alpha should be greater than 0, got 0", lambda: models.MNASNet(0)),
        (ValueError, r"kernel_size should be 3 or 5, got 7", lambda: (
            mnasnet._InvertedResidual(8, 8, 7, 1, 1)
        )),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(error, text, build):
    with pytest.raises(error, match=text):
        build()
