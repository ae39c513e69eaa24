import pytest

import facula
from facula.nn import functional as F
from facula.vision.models import segmentation
from facula.vision.models.segmentation.deeplabv3 import ASPP, ASPPPooling
from facula.vision.models.segmentation.lraspp import LRASPPHead

pytestmark = pytest.mark.promise("D3")


@pytest.mark.parametrize("build", ["fcn_resnet50", "deeplabv3_mobilenet_v3_large"])
def test_the_result_has_the_size_of_the_image_and_a_second_head_if_wanted(build):
    build = getattr(segmentation, build)
    model = build(weights_backbone=None, num_classes=3, aux_loss=True).eval()
    with facula.no_grad():
        result = model(facula.randn(1, 3, 33, 40))
    assert {name: tuple(scores.shape) for name, scores in result.items()} == {
        "out": (1, 3, 33, 40),
        "aux": (1, 3, 33, 40),
    }


def test_without_the_second_head_the_backbone_has_nothing_for_it():
    model = segmentation.deeplabv3_mobilenet_v3_large(weights_backbone=None)
    assert model.aux_classifier is None
    assert model.backbone.return_layers == {"16": "out"}
    assert model.classifier[-1].out_channels == 21


def test_lraspp_has_no_auxiliary_loss():
    with pytest.raises(NotImplementedError, match="this model has no auxiliary loss"):
        segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, aux_loss=True)


def test_lraspp_joins_features_of_two_sizes():
    head = LRASPPHead(low_channels=4, high_channels=6, num_classes=3, inter_channels=8).eval()
    low, high = facula.randn(1, 4, 8, 8), facula.randn(1, 6, 4, 4)
    assert head({"low": low, "high": high}).shape == (1, 3, 8, 8)


def test_aspp_has_a_branch_for_each_rate_and_two_more():
    aspp = ASPP(4, [1, 2], out_channels=3).eval()
    assert len(aspp.convs) == 4
    assert aspp(facula.randn(1, 4, 6, 5)).shape == (1, 3, 6, 5)


def test_pooling_gives_each_place_the_same_value():
    y = ASPPPooling(2, 3).eval()(facula.randn(1, 2, 4, 5))
    facula.testing.assert_close(y, y[..., :1, :1].expand(1, 3, 4, 5))


def test_weights_and_arguments_must_agree():
    weights = segmentation.FCN_ResNet50_Weights.DEFAULT
    with pytest.raises(ValueError, match="num_classes: the weights need 21, got 3"):
        segmentation.fcn_resnet50(weights=weights, num_classes=3)
    with pytest.raises(ValueError, match="aux_loss: the weights need True, got False"):
        segmentation.fcn_resnet50(weights=weights, aux_loss=False)


def test_a_model_learns_to_tell_two_halves_apart():
    facula.manual_seed(0)
    model = segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, num_classes=2)
    images = facula.randn(2, 3, 32, 32) * 0.1
    images[..., 16:] += 1
    target = facula.zeros(2, 32, 32, dtype=facula.int64)
    target[..., 16:] = 1
    optimizer = facula.optim.Adam(model.classifier.parameters(), lr=0.05)
    losses = []
    for _ in range(6):
        loss = F.cross_entropy(model(images)["out"], target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
