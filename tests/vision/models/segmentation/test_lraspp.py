import pytest

import facula
from facula.vision.models import segmentation
from facula.vision.models.segmentation.lraspp import LRASPPHead

pytestmark = pytest.mark.promise("D3")


def test_lraspp_has_no_auxiliary_loss():
    with pytest.raises(NotImplementedError, match="this model has no auxiliary loss"):
        segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, aux_loss=True)


def test_lraspp_joins_features_of_two_sizes():
    head = LRASPPHead(low_channels=4, high_channels=6, num_classes=3, inter_channels=8).eval()
    low, high = facula.randn(1, 4, 8, 8), facula.randn(1, 6, 4, 4)
    assert head({"low": low, "high": high}).shape == (1, 3, 8, 8)
