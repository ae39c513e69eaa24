import pytest

import facula
from facula.vision.models.video.s3d import SepInceptionBlock3D

pytestmark = pytest.mark.promise("D3")


def test_branches_of_s3d_stand_side_by_side():
    block = SepInceptionBlock3D(4, 1, 2, 3, 2, 4, 5, facula.nn.BatchNorm3d)
    assert block(facula.randn(1, 4, 2, 6, 6)).shape == (1, 13, 2, 6, 6)
