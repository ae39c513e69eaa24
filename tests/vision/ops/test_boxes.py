"""Boxes: formats, overlaps, and which of them are kept."""

import math

import pytest

import facula
from facula.vision import ops
from tests.check_op import check_threads

pytestmark = pytest.mark.promise("D3")


def _boxes(n, size=100.0, seed=0):
    facula.manual_seed(seed)
    corners = facula.rand(n, 2) * size
    return facula.cat([corners, corners + facula.rand(n, 2) * size / 5 + 1], dim=1)


def _nms_by_definition(boxes, scores, threshold):
    order = scores.argsort(descending=True, stable=True).tolist()
    iou = ops.box_iou(boxes, boxes)
    kept = []
    for i in order:
        if all(iou[k, i].item() <= threshold for k in kept):
            kept.append(i)
    return kept


@pytest.mark.parametrize("n", [0, 1, 16, 63, 64, 65, 200])
def test_nms_agrees_with_its_definition(n):
    boxes, scores = _boxes(n), facula.rand(n)
    assert ops.nms(boxes, scores, 0.3).tolist() == _nms_by_definition(boxes, scores, 0.3)


def test_nms_does_not_depend_on_threads():
    boxes, scores = _boxes(5000), facula.rand(5000)
    check_threads(lambda: ops.nms(boxes, scores, 0.1), lambda: ops.nms(boxes, scores, 0.7))


def test_nms_takes_the_first_of_equal_scores():
    boxes = facula.tensor([[0.0, 0, 4, 4], [0, 0, 4, 4], [9, 9, 10, 10]])
    assert ops.nms(boxes, facula.ones(3), 0.5).tolist() == [0, 2]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_nms_of_boxes_that_are_no_numbers_ends(bad):
    boxes = _boxes(100)
    boxes[::3] = bad
    kept = ops.nms(boxes, facula.full((100,), bad), 0.5)
    assert 0 < kept.numel() <= 100


def test_nms_says_what_it_expects():
    boxes, scores = _boxes(3), facula.ones(3)
    with pytest.raises(RuntimeError, match=r"nms: expected boxes \(N, 4\), got float32 \(3, 3\)"):
        ops.nms(boxes[:, :3], scores, 0.5)
    with pytest.raises(RuntimeError, match=r"nms: expected scores \(3,\)"):
        ops.nms(boxes, scores[:2], 0.5)
    with pytest.raises(RuntimeError, match=r"nms: expected boxes and scores of one device and"):
        ops.nms(boxes, scores.double(), 0.5)
    with pytest.raises(NotImplementedError, match=r"nms: expected float32 or float64 boxes"):
        ops.nms(boxes.half(), scores.half(), 0.5)


@pytest.mark.parametrize("n", [40, 1500])
def test_batched_nms_is_nms_of_each_class(n):
    boxes, scores, idxs = _boxes(n), facula.rand(n), facula.arange(n) % 3
    expected = []
    for c in range(3):
        members = (idxs == c).nonzero()[:, 0]
        expected += members[ops.nms(boxes[members], scores[members], 0.3)].tolist()
    expected.sort(key=lambda i: -scores[i].item())
    assert ops.batched_nms(boxes, scores, idxs, 0.3).tolist() == expected


@pytest.mark.parametrize("formats", [("xyxy", "xywh", "cxcywh"), ("xywhr", "cxcywhr", "xyxyxyxy")])
def test_a_way_through_all_formats_ends_where_it_began(formats):
    first, second, third = formats
    boxes = _boxes(6).double()
    if first == "xywhr":
        boxes = facula.cat([boxes, facula.linspace(-170, 170, 6).double()[:, None]], dim=1)
    there = ops.box_convert(ops.box_convert(boxes, first, second), second, third)
    facula.testing.assert_close(ops.box_convert(there, third, first), boxes)


def test_box_convert_refuses_other_formats():
    with pytest.raises(ValueError, match=r"box_convert: expected in_fmt to be one of .* got 'xy'"):
        ops.box_convert(_boxes(1), "xy", "xyxy")
    with pytest.raises(NotImplementedError, match=r"are not both rotated"):
        ops.box_convert(_boxes(1), "xyxy", "xywhr")
    with pytest.raises(ValueError, match=r"expected boxes \(\.\.\., 5\) in the format 'xywhr'"):
        ops.box_convert(_boxes(1), "xywhr", "cxcywhr")


def test_a_box_turned_by_90_degrees_overlaps_like_the_upright_one():
    upright = ops.box_convert(_boxes(8), "xyxy", "cxcywh")
    turned = facula.stack(
        [upright[:, 0], upright[:, 1], upright[:, 3], upright[:, 2], facula.full((8,), 90.0)], 1
    )
    plain = ops.box_iou(upright, upright, fmt="cxcywh")
    facula.testing.assert_close(
        ops.box_iou(turned, turned, fmt="cxcywhr"), plain, rtol=1e-4, atol=1e-4
    )


def test_squares_turned_by_45_degrees_have_an_octagon_in_common():
    boxes = facula.tensor([[0.0, 0, 2, 2, 0], [0, 0, 2, 2, 45]], dtype=facula.float64)
    octagon = 8 * (math.sqrt(2) - 1)
    expected = octagon / (8 - octagon)
    assert ops.box_iou(boxes[:1], boxes[1:], fmt="cxcywhr").item() == pytest.approx(expected)


def test_masks_to_boxes_of_nothing():
    assert ops.masks_to_boxes(facula.zeros(0, 3, 3)).shape == (0, 4)
    assert ops.masks_to_boxes(facula.zeros(2, 0, 3)).tolist() == [[0] * 4] * 2
    assert ops.masks_to_boxes(facula.zeros(1, 3, 3)).tolist() == [[0] * 4]
    with pytest.raises(ValueError, match=r"masks_to_boxes: expected masks \(N, H, W\)"):
        ops.masks_to_boxes(facula.zeros(3, 3))
