import pytest

import facula
from facula.vision.models.detection.transform import GeneralizedRCNNTransform

pytestmark = pytest.mark.promise("D3")


def test_sizes_are_drawn_in_training_only():
    transform = GeneralizedRCNNTransform((32, 64), 200, [0.0] * 3, [1.0] * 3)
    image = facula.rand(3, 16, 16)
    facula.manual_seed(0)
    drawn = {transform([image])[0].image_sizes[0][0] for _ in range(20)}
    assert drawn == {32, 64}
    transform.eval()
    assert transform([image])[0].image_sizes == [(64, 64)]
