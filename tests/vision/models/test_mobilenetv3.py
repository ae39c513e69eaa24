import pytest

import facula
from facula.vision import models

pytestmark = pytest.mark.promise("D3")


def test_mobilenet_v3_can_be_thinner_and_dilated():
    net = models.mobilenet_v3_large(
        width_mult=0.5, reduced_tail=True, dilated=True, num_classes=2
    ).eval()
    assert net.features(facula.randn(1, 3, 64, 64)).shape == (1, 240, 4, 4)
    assert net.classifier[0].out_features == 320
