import pytest

import facula
from facula.vision.models.detection import _utils as det_utils

pytestmark = pytest.mark.promise("D3")


def test_matching_by_thresholds():
    quality = facula.tensor([[0.8, 0.45, 0.1, 0.2], [0.1, 0.3, 0.35, 0.0]])
    assert det_utils.Matcher(0.5, 0.4)(quality).tolist() == [0, -2, -1, -1]
    assert det_utils.Matcher(0.5, 0.4, True)(quality).tolist() == [0, -2, 1, -1]
    assert det_utils.SSDMatcher(0.5)(quality).tolist() == [0, -1, 1, -1]
    with pytest.raises(ValueError, match=r"there are no true boxes"):
        det_utils.Matcher(0.5, 0.4)(facula.zeros(0, 3))


def test_samples_have_the_fraction_where_they_can():
    sampler = det_utils.BalancedPositiveNegativeSampler(8, 0.5)
    labels = facula.tensor([1, 1, 0, 0, 0, 0, 0, 0, 0, -1])
    [positive], [negative] = sampler([labels])
    assert positive.nonzero()[:, 0].tolist() == [0, 1]
    assert negative.sum() == 6 and negative[9] == 0


def test_codes_of_boxes_and_back():
    coder = det_utils.BoxCoder((10.0, 10.0, 5.0, 5.0))
    facula.manual_seed(0)
    boxes, anchors = (facula.rand(5, 2).repeat(1, 2) * 9 for _ in range(2))
    boxes[:, 2:] += 3
    anchors[:, 2:] += 2
    codes = coder.encode_single(boxes, anchors)
    facula.testing.assert_close(coder.decode_single(codes, anchors), boxes)
    linear = det_utils.BoxLinearCoder()
    facula.testing.assert_close(linear.decode(linear.encode(anchors, boxes), anchors), boxes)
