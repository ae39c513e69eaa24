import pytest

import facula
from facula.vision import ops

pytestmark = pytest.mark.promise("D3")


def test_focal_loss_without_focus_is_the_cross_entropy():
    x, y = facula.randn(6), (facula.rand(6) > 0.5).float()
    expected = facula.nn.functional.binary_cross_entropy_with_logits(x, y)
    loss = ops.sigmoid_focal_loss(x, y, alpha=-1, gamma=0, reduction="mean")
    facula.testing.assert_close(loss, expected)
    with pytest.raises(ValueError, match=r"sigmoid_focal_loss: expected alpha from 0 to 1"):
        ops.sigmoid_focal_loss(x, y, alpha=3)
