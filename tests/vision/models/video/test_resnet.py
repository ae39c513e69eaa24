import pytest

import facula
from facula.vision.models import video
from facula.vision.models.video.resnet import (
    BasicStem,
    Bottleneck,
    Conv2Plus1D,
    Conv3DNoTemporal,
    Conv3DSimple,
)

pytestmark = pytest.mark.promise("D3")


@pytest.mark.parametrize(
    "conv, frames", [(Conv3DSimple, 2), (Conv2Plus1D, 2), (Conv3DNoTemporal, 4)]
)
def test_convolutions_halve_space_and_mostly_time(conv, frames):
    y = conv(3, 4, 5, stride=2)(facula.ones(1, 3, 4, 8, 8))
    assert y.shape == (1, 4, frames, 4, 4)
    assert conv.get_downsample_stride(2) == (4 // frames, 2, 2)


def test_a_resnet_of_bottlenecks_can_begin_as_the_identity():
    model = video.VideoResNet(
        Bottleneck, [Conv3DSimple] * 4, [1, 1, 1, 1], BasicStem, 3, zero_init_residual=True
    )
    assert model.layer4[0].conv3[1].weight.abs().sum() == 0
    assert model.eval()(facula.randn(1, 3, 4, 16, 16)).shape == (1, 3)


def test_mc3_has_3d_convolutions_only_in_its_first_stage():
    model = video.mc3_18(num_classes=2)
    assert isinstance(model.layer1[0].conv1[0], Conv3DSimple)
    assert isinstance(model.layer2[0].conv1[0], Conv3DNoTemporal)
