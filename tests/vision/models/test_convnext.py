import pytest

import facula
from facula import nn
from facula.vision.models import ConvNeXt
from facula.vision.models.convnext import CNBlock, CNBlockConfig, LayerNorm2d

pytestmark = pytest.mark.promise("D3")


def test_layer_norm_2d_normalises_the_channels_of_each_place():
    y = LayerNorm2d(8)(facula.randn(2, 8, 3, 4))
    assert y.shape == (2, 8, 3, 4)
    facula.testing.assert_close(y.mean(1), facula.zeros(2, 3, 4), atol=1e-5, rtol=0)


def test_a_block_begins_close_to_the_identity():
    x = facula.randn(1, 4, 8, 8)
    facula.testing.assert_close(CNBlock(4, 1e-6, 0.0)(x), x, atol=1e-4, rtol=0)


def test_stages_halve_the_image():
    model = ConvNeXt([CNBlockConfig(4, 8, 1), CNBlockConfig(8, None, 1)], num_classes=3)
    assert model.features(facula.ones(1, 3, 32, 32)).shape == (1, 8, 4, 4)
    assert [type(layer) for layer in model.classifier] == [LayerNorm2d, nn.Flatten, nn.Linear]


def test_bad_stages_are_refused():
    with pytest.raises(ValueError, match="block_setting has no stages"):
        ConvNeXt([])
    with pytest.raises(TypeError, match=r"a list of CNBlockConfig, got \[1\]"):
        ConvNeXt([1])
