import pytest

from facula.vision.datasets._coco_masks import mask_of

pytestmark = pytest.mark.promise("D3")

# Made with pycocotools 2.0.
POLYGON = [0.3, 0.2, 5.1, 1.4, 3.6, 4.9, -1.2, 3.3]

GOLDEN = ["110000", "111110", "111110", "111100", "001100"]


def test_polygons_are_filled_by_the_rule_of_coco():
    found = ["".join(map(str, row)) for row in mask_of([POLYGON], 5, 6).tolist()]
    assert found == GOLDEN


def test_compressed_runs_are_read():
    found = ["".join(map(str, row)) for row in mask_of({"counts": "041010O00N6"}, 5, 6).tolist()]
    assert found == GOLDEN


@pytest.mark.parametrize("counts", [[1, 2], [31, 0], [-1, 31], "0"])
def test_runs_of_another_size_are_refused(counts):
    with pytest.raises(ValueError, match=r"expected 30 for an image of 5 x 6"):
        mask_of({"counts": counts}, 5, 6)
