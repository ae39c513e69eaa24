import pytest

import facula
from facula.vision.models.detection.roi_heads import (
    heatmaps_to_keypoints,
    keypoints_to_heatmap,
    paste_masks_in_image,
)

pytestmark = pytest.mark.promise("D3")


def test_masks_are_pasted_where_the_box_is_in_the_image():
    boxes = facula.tensor([[2.0, 1, 6, 5], [-3, -3, 2, 2], [50, 50, 60, 60]])
    masks = paste_masks_in_image(facula.ones(3, 1, 8, 8), boxes, (7, 9))[:, 0]
    assert masks.shape == (3, 7, 9)
    assert masks[0, 2:5, 3:6].min() > 0.9 and masks[0, :, 8].max() == 0
    assert masks[1, 0, 0] > 0.5 and masks[2].max() == 0


def test_keypoints_to_heatmaps_and_back():
    boxes = facula.tensor([[10.0, 20, 66, 76]])
    points = facula.tensor([[[24.5, 40.5, 1], [10, 76, 1], [5, 30, 1], [30, 30, 0]]])
    places, valid = keypoints_to_heatmap(points, boxes, 56)
    assert valid.tolist() == [[1, 1, 0, 0]]
    assert places.tolist() == [[20 * 56 + 14, 55 * 56, 0, 0]]
    maps = facula.zeros(1, 1, 56, 56)
    maps[0, 0, 20, 14] = 1
    found, scores = heatmaps_to_keypoints(maps, boxes)
    assert found.tolist() == [[[24.5, 40.5, 1]]]
    assert scores.item() == pytest.approx(1)
