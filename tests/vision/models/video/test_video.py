import pytest

import facula
from facula.vision.models import video

pytestmark = pytest.mark.promise("D3")


def test_weights_prepare_videos():
    prepare = video.R3D_18_Weights.DEFAULT.transforms()
    frames = facula.randint(0, 256, (2, 4, 3, 120, 160), dtype=facula.uint8)
    assert prepare(frames).shape == (2, 3, 4, 112, 112)
    assert "``(..., C, T, H, W)``" in prepare.describe()
    assert len(video.R3D_18_Weights.DEFAULT.meta["categories"]) == 400
