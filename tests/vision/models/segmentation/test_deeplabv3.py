import pytest

import facula
from facula.vision.models.segmentation.deeplabv3 import ASPP, ASPPPooling

pytestmark = pytest.mark.promise("D3")


def test_aspp_has_a_branch_for_each_rate_and_two_more():
    aspp = ASPP(4, [1, 2], out_channels=3).eval()
    assert len(aspp.convs) == 4
    assert aspp(facula.randn(1, 4, 6, 5)).shape == (1, 3, 6, 5)


def test_pooling_gives_each_place_the_same_value():
    y = ASPPPooling(2, 3).eval()(facula.randn(1, 2, 4, 5))
    facula.testing.assert_close(y, y[..., :1, :1].expand(1, 3, 4, 5))
