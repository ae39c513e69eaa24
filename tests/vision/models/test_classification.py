import pytest

import facula
from facula import nn
from facula.vision import models
from facula.vision.models import mnasnet, mobilenetv2, mobilenetv3, resnet, shufflenetv2

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


def test_googlenet_in_training_has_auxiliary_outputs():
    net = models.googlenet(num_classes=4, init_weights=False)
    out = net(facula.randn(2, 3, 32, 32))
    assert isinstance(out, models.GoogLeNetOutputs)
    assert [y.shape for y in out] == [(2, 4)] * 3
    assert isinstance(net.eval()(facula.randn(1, 3, 32, 32)), facula.Tensor)


def test_inception_in_training_has_an_auxiliary_output():
    net = models.inception_v3(num_classes=4, init_weights=False)
    with facula.no_grad():
        out = net(facula.randn(2, 3, 299, 299))
    assert isinstance(out, models.InceptionOutputs)
    assert out.logits.shape == out.aux_logits.shape == (2, 4)
    net = models.inception_v3(num_classes=4, aux_logits=False, init_weights=False)
    assert net(facula.randn(2, 3, 75, 75)).shape == (2, 4)


def test_transformed_input_has_mean_and_deviation_of_a_half():
    white = (1 - facula.tensor([0.485, 0.456, 0.406])) / facula.tensor([0.229, 0.224, 0.225])
    image = models.inception.to_original_input(white.view(1, 3, 1, 1))
    assert facula.allclose(image, facula.ones(1, 3, 1, 1))


def test_resnet_blocks_start_as_the_identity_if_asked():
    net = models.resnet18(zero_init_residual=True)
    assert not net.layer1[0].bn2.weight.any() and net.layer1[0].bn1.weight.all()
    assert not models.resnet50(zero_init_residual=True).layer4[2].bn3.weight.any()


def test_resnet_dilates_instead_of_striding():
    net = models.resnet50(replace_stride_with_dilation=[False, True, True], num_classes=2)
    x = net.maxpool(net.conv1(facula.randn(1, 3, 32, 32)))
    assert net.layer4(net.layer3(net.layer2(net.layer1(x)))).shape == (1, 2048, 4, 4)
    assert net.layer4[1].conv2.dilation == (4, 4)


def test_resnet_takes_another_normalisation():
    net = resnet.ResNet(
        resnet.BasicBlock, [1, 1, 1, 1], 2, norm_layer=lambda channels: nn.GroupNorm(8, channels)
    )
    assert not any(isinstance(module, nn.BatchNorm2d) for module in net.modules())
    assert net(facula.randn(1, 3, 32, 32)).shape == (1, 2)


def test_densenet_with_less_memory_gives_the_same_gradients():
    facula.manual_seed(0)
    plain = models.DenseNet(4, (2, 1, 1, 1), 8, num_classes=2)
    frugal = models.DenseNet(4, (2, 1, 1, 1), 8, num_classes=2, memory_efficient=True)
    frugal.load_state_dict(plain.state_dict())
    x = facula.randn(2, 3, 32, 32)
    for net in (plain, frugal):
        net(x).sum().backward()
    for a, b in zip(plain.parameters(), frugal.parameters(), strict=True):
        assert facula.allclose(a.grad, b.grad)


def test_mobilenet_v3_can_be_thinner_and_dilated():
    net = models.mobilenet_v3_large(
        width_mult=0.5, reduced_tail=True, dilated=True, num_classes=2
    ).eval()
    assert net.features(facula.randn(1, 3, 64, 64)).shape == (1, 240, 4, 4)
    assert net.classifier[0].out_features == 320


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
