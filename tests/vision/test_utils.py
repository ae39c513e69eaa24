import io

import PIL.Image
import pytest

import facula
from facula.vision import utils

pytestmark = pytest.mark.promise("D3")


def test_a_grid_places_images_row_by_row():
    images = facula.arange(1, 4).view(3, 1, 1, 1).expand(3, 3, 1, 2)
    grid = utils.make_grid(images, nrow=2, padding=1)
    assert grid[0].tolist() == [
        [0, 0, 0, 0, 0, 0, 0],
        [0, 1, 1, 0, 2, 2, 0],
        [0, 0, 0, 0, 0, 0, 0],
        [0, 3, 3, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
    ]


def test_a_grid_of_gray_images_has_three_channels():
    assert utils.make_grid(facula.zeros(4, 1, 2, 2), padding=0).shape == (3, 2, 8)


def test_normalize_reaches_from_0_to_1_and_leaves_the_images_alone():
    images = facula.stack([facula.full((3, 2, 2), -1.0), facula.full((3, 2, 2), 3.0)])
    images[0, 0, 0, 0] = 1
    grid = utils.make_grid(images, normalize=True, padding=0)
    assert (grid.min().item(), grid.max().item()) == (0, 1)
    each = utils.make_grid(images, normalize=True, scale_each=True, padding=0)
    assert each[0, 0, 0] == 1
    assert images.min() == -1


def test_saved_images_are_read_again(tmp_path):
    image = facula.rand(3, 5, 6)
    utils.save_image(image, tmp_path / "image.png")
    with PIL.Image.open(tmp_path / "image.png") as saved:
        assert saved.size == (6, 5)
        expected = (image * 255 + 0.5).to(facula.uint8)[:, 0, 0]
        assert saved.getpixel((0, 0)) == tuple(expected.tolist())
    file = io.BytesIO()
    utils.save_image([image, image], file, format="JPEG", nrow=1)
    assert PIL.Image.open(file).size == (10, 16)


def test_boxes_are_drawn_in_their_colors():
    image = facula.zeros(3, 10, 10, dtype=facula.uint8)
    boxes = facula.tensor([[1, 1, 4, 4], [5, 5, 8, 8]])
    drawn = utils.draw_bounding_boxes(image, boxes, colors=["red", (0, 0, 9)])
    assert drawn[:, 1, 1].tolist() == [255, 0, 0]
    assert drawn[:, 8, 8].tolist() == [0, 0, 9]
    assert drawn[:, 2, 2].tolist() == [0, 0, 0]
    assert image.sum() == 0
    assert utils.draw_bounding_boxes(image / 255, boxes).is_floating_point()


def test_the_first_side_of_a_rotated_box_is_dashed():
    image = facula.zeros(3, 20, 30, dtype=facula.uint8)
    box = facula.tensor([[2, 2, 27, 2, 27, 17, 2, 17]])
    drawn = utils.draw_bounding_boxes(image, box, colors="white")[0] > 0
    assert drawn[17, 2:28].all() and drawn[2:18, 2].all()
    assert 0 < drawn[2, 3:27].sum() < 24


def test_masks_shine_through_and_overlaps_are_black():
    image = facula.full((3, 1, 3), 100, dtype=facula.uint8)
    masks = facula.tensor([[[True, True, False]], [[False, True, False]]])
    drawn = utils.draw_segmentation_masks(image, masks, alpha=0.5, colors="white")
    assert drawn[0].tolist() == [[177, 50, 100]]


def test_invisible_points_and_their_lines_are_not_drawn():
    image = facula.zeros(3, 20, 20, dtype=facula.uint8)
    points = facula.tensor([[[3, 3], [15, 15]]])
    seen = facula.tensor([[True, False]])
    drawn = utils.draw_keypoints(image, points, [(0, 1)], "red", visibility=seen)
    assert drawn[:, 3, 3].tolist() == [255, 0, 0]
    assert drawn[:, 9, 9].sum() == 0 and drawn[:, 15, 15].sum() == 0


def test_opposite_flows_have_other_colors_and_no_flow_is_white():
    flow = facula.zeros(2, 1, 3)
    flow[0, 0, 0], flow[0, 0, 1] = 1, -1
    colors = utils.flow_to_image(flow)
    assert colors[:, 0, 2].tolist() == [255, 255, 255]
    assert colors[:, 0, 0].tolist() != colors[:, 0, 1].tolist()


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: utils.make_grid(3), TypeError, "expected a tensor or a list of them, got int"),
        (lambda x: utils.make_grid([x, 1]), TypeError, "a list of tensors, got one with int"),
        (lambda x: utils.draw_bounding_boxes(x.int(), x), ValueError, "uint8 or floating-point"),
        (
            lambda x: utils.draw_bounding_boxes(x, facula.tensor([[3, 3, 1, 1]])),
            ValueError,
            "one that ends before it begins",
        ),
        (
            lambda x: utils.draw_bounding_boxes(x, facula.zeros(2, 4), labels=["a"]),
            ValueError,
            "expected 2 labels, one for each box, got 1",
        ),
        (lambda x: utils.draw_segmentation_masks(x, x), ValueError, "masks of dtype bool"),
        (
            lambda x: utils.draw_segmentation_masks(x, facula.zeros(2, 2) > 0),
            ValueError,
            "masks of the size of the image",
        ),
        (lambda x: utils.draw_keypoints(x, x[0]), ValueError, r"expected points \(N, K, 2\)"),
        (lambda x: utils.flow_to_image(x), ValueError, "expected a float32 flow"),
        (lambda x: utils.flow_to_image(x / 255), ValueError, r"expected a flow \(2, H, W\)"),
    ],
)
def test_bad_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(facula.zeros(3, 8, 8, dtype=facula.uint8))
