"""What is inside boxes, and convolutions at shifted places."""

import math

import numpy as np
import pytest

import facula
from facula.vision import ops
from tests.check_op import check_threads

pytestmark = pytest.mark.promise("D3")

KINDS = ["roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool"]


def _input(n_channels=8, dtype=facula.float64, seed=0):
    facula.manual_seed(seed)
    return facula.randn(2, n_channels, 9, 11, dtype=dtype)


def _rois(dtype=facula.float64):
    rows = [[0, 1.3, 0.2, 8.1, 7.4], [1, -3, -2, 4, 5], [1, 6, 6, 30, 30], [0, 3, 3, 3, 3]]
    return facula.tensor(rows, dtype=dtype)


def _bilinear(image, y, x):
    height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = max(y, 0), max(x, 0)
    top, left = min(int(y), height - 1), min(int(x), width - 1)
    low, right = min(top + 1, height - 1), min(left + 1, width - 1)
    v, u = (y - top if top < height - 1 else 0), (x - left if left < width - 1 else 0)
    return (1 - v) * ((1 - u) * image[top, left] + u * image[top, right]) + v * (
        (1 - u) * image[low, left] + u * image[low, right]
    )


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [1, 2, -1])
def test_roi_align_agrees_with_its_definition(aligned, ratio):
    x, rois, shape = _input(2), _rois(), (3, 2)
    expected = np.zeros((len(rois), 2, *shape))
    for k, (n, *box) in enumerate(rois.tolist()):
        x1, y1, x2, y2 = (c * 0.7 - 0.5 * aligned for c in box)
        sides = [y2 - y1, x2 - x1] if aligned else [max(y2 - y1, 1), max(x2 - x1, 1)]
        bins = [side / n_bins for side, n_bins in zip(sides, shape, strict=True)]
        counts = [ratio if ratio > 0 else math.ceil(b) for b in bins]
        for c, r, q in np.ndindex(2, *shape):
            image = x[int(n), c].numpy()
            total = sum(
                _bilinear(
                    image,
                    y1 + (r + (i + 0.5) / counts[0]) * bins[0],
                    x1 + (q + (j + 0.5) / counts[1]) * bins[1],
                )
                for i in range(counts[0])
                for j in range(counts[1])
            )
            expected[k, c, r, q] = total / max(counts[0] * counts[1], 1)
    y = ops.roi_align(x, rois, shape, 0.7, ratio, aligned)
    np.testing.assert_allclose(y.numpy(), expected, 1e-9, 1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_gradients_of_any_order(name):
    x = _input(8).requires_grad_()
    rois = _rois()[:3]  # the last one is empty: no number, where points are averaged
    facula.autograd.gradcheck(lambda x: getattr(ops, name)(x, rois, 2, 0.8), (x,))
    facula.autograd.gradgradcheck(lambda x: getattr(ops, name)(x, rois, 2, 0.8), (x,))


@pytest.mark.parametrize("name", KINDS)
def test_results_do_not_depend_on_threads(name):
    x = facula.randn(2, 4 * 40, 9, 11)
    numbers = (facula.arange(60) % 2).float()[:, None]
    rois = facula.cat([numbers, facula.rand(60, 4) * 8], dim=1)

    def gradient():
        leaf = x.clone().requires_grad_()
        getattr(ops, name)(leaf, rois, 2).square().sum().backward()
        return leaf.grad

    check_threads(lambda: getattr(ops, name)(x, rois, 2).nan_to_num(), gradient)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e30, -1e30, 3e9])
def test_boxes_from_nowhere_do_no_harm(name, value):
    x = _input(8, facula.float32).requires_grad_()
    for column in range(1, 5):
        rois = _rois(facula.float32)
        rois[1, column] = value
        rois[2, 1:] = value
        y = getattr(ops, name)(x, rois, 2)
        assert y.shape[0] == 4
        y.sum().backward()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("image", [-1.0, 2.0, 1e9, math.nan])
def test_a_box_of_an_image_that_is_not_there_is_refused(name, image):
    rois = _rois()
    rois[3, 0] = image
    with pytest.raises(RuntimeError, match=rf"^{name}: box 3 is in image .* has 2 images"):
        getattr(ops, name)(_input(), rois, 2)


def test_more_points_than_memory_are_refused():
    with pytest.raises(RuntimeError, match=r"roi_align: expected a sampling_ratio of at most"):
        ops.roi_align(_input(), _rois(), 2, sampling_ratio=2**40)
    y = ops.roi_align(facula.ones(1, 1, 4, 4), [facula.tensor([[0.0, 0, 3, 3]])], 1, 1.0, 20000)
    assert y.item() == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize("name", KINDS)
def test_pooling_says_what_it_expects(name):
    pool = getattr(ops, name)
    with pytest.raises(AssertionError, match=rf"{name}: expected boxes \(K, 5\)"):
        pool(_input(), _rois()[:, 1:], 2)
    with pytest.raises(AssertionError, match=r"got \(4, 5\) for image 0"):
        pool(_input(), [_rois()], 2)
    with pytest.raises(AssertionError, match=r"list of tensors \(L, 4\), got str"):
        pool(_input(), "boxes", 2)
    with pytest.raises(RuntimeError, match=rf"{name}: expected an input and boxes of one device"):
        pool(_input(), _rois().float(), 2)
    with pytest.raises(NotImplementedError, match=r"expected a floating-point input"):
        pool(_input().bfloat16(), _rois().bfloat16(), 2)


def test_pooling_of_maxima_is_max_pooling_on_whole_boxes():
    x = _input()
    box = facula.tensor([[0.0, 0.0, 7.0, 7.0]], dtype=x.dtype)
    expected = facula.nn.functional.max_pool2d(x[:1, :, :8, :8], 2)
    assert facula.equal(ops.roi_pool(x[:1], [box], 4), expected)


@pytest.mark.parametrize("name", ["roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool"])
def test_regions_are_computed_in_float32_inside_of_autocast(name):
    function = getattr(facula.vision.ops, name)
    features = facula.rand(1, 4, 8, 8)
    boxes = facula.tensor([[0.0, 1.3, 0.7, 6.1, 5.9]])
    low = features.bfloat16()
    with facula.autocast("cpu"):
        result = function(low, boxes, 2)
        by_name = function(input=low, boxes=[boxes[:, 1:]], output_size=2)
    assert result.dtype == by_name.dtype == facula.bfloat16
    expected = function(low.float(), boxes, 2).bfloat16()
    assert result.tolist() == by_name.tolist() == expected.tolist()


def test_boxes_are_compared_in_float32_inside_of_autocast():
    boxes = facula.tensor([[0.0, 0, 4, 4], [0, 0, 4, 5], [8, 8, 9, 9]])
    with facula.autocast("cpu"):
        kept = facula.vision.ops.nms(boxes.bfloat16(), facula.tensor([0.5, 0.9, 0.1]), 0.5)
    assert kept.tolist() == [1, 2]


def test_deformed_convolutions_are_computed_in_float32_inside_of_autocast():
    x, weight = facula.rand(1, 2, 6, 6), facula.rand(3, 2, 3, 3)
    offset = facula.rand(1, 18, 4, 4)
    with facula.autocast("cpu"):
        result = facula.vision.ops.deform_conv2d(x, offset, weight)
    assert result.dtype == facula.float32
    assert result.tolist() == facula.vision.ops.deform_conv2d(x, offset, weight).tolist()
