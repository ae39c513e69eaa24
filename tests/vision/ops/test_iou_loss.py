import pytest

import facula
from facula.vision import ops

pytestmark = pytest.mark.promise("D3")


def _boxes(n, size=100.0, seed=0):
    facula.manual_seed(seed)
    corners = facula.rand(n, 2) * size
    return facula.cat([corners, corners + facula.rand(n, 2) * size / 5 + 1], dim=1)


@pytest.mark.parametrize("kind", ["generalized", "distance", "complete"])
def test_losses_are_1_less_the_overlap_of_pairs(kind):
    a, b = _boxes(5).double(), _boxes(5, seed=1).double()
    pairs = getattr(ops, f"{kind}_box_iou")(a, b).diagonal()
    loss = getattr(ops, f"{kind}_box_iou_loss")(a, b)
    facula.testing.assert_close(loss, 1 - pairs, rtol=1e-6, atol=1e-6)


def test_losses_refuse_another_reduction():
    with pytest.raises(ValueError, match=r"expected the reduction 'none', 'mean' or 'sum'"):
        ops.generalized_box_iou_loss(_boxes(2), _boxes(2), reduction="max")


def test_losses_of_no_boxes_are_0():
    empty = facula.zeros(0, 4, requires_grad=True)
    loss = ops.complete_box_iou_loss(empty, facula.zeros(0, 4), reduction="mean")
    assert loss.item() == 0
    loss.backward()
