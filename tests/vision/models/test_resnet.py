import pytest

import facula
from facula import nn
from facula.vision import models
from facula.vision.models import resnet

pytestmark = pytest.mark.promise("D3")


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
