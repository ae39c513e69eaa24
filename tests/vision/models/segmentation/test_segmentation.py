import pytest

import facula
from facula.nn import functional as F
from facula.vision.models import segmentation

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
