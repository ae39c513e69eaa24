"""Detectors: their parts, their promises to the user, and that they learn."""

import math

import pytest

import facula
from facula import nn
from facula.vision import models
from facula.vision.models import detection
from facula.vision.models.detection.anchor_utils import AnchorGenerator

pytestmark = pytest.mark.promise("D3")

NAMES = [
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
    "fcos_resnet50_fpn",
    "keypointrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
    "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
    "ssd300_vgg16",
    "ssdlite320_mobilenet_v3_large",
]


class TinyBackbone(nn.Module):
    """Two feature maps of 8 channels, steps 4 and 8."""

    out_channels = 8

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, stride=4)
        self.down = nn.Conv2d(8, 8, 3, stride=2, padding=1)

    def forward(self, x):
        fine = facula.relu(self.stem(x))
        return {"0": fine, "1": facula.relu(self.down(fine))}


def _anchors(ratios=(0.5, 1.0, 2.0)):
    return AnchorGenerator(((12,), (24,)), (ratios,) * 2)


def _tiny(kind, **kwargs):
    facula.manual_seed(0)
    if issubclass(kind, detection.FasterRCNN):
        kwargs = {"rpn_anchor_generator": _anchors(), "box_batch_size_per_image": 16, **kwargs}
        if kind is detection.KeypointRCNN:
            parts = detection.keypoint_rcnn
            kwargs["keypoint_head"] = parts.KeypointRCNNHeads(8, (16,))
            kwargs["keypoint_predictor"] = parts.KeypointRCNNPredictor(16, 4)
    elif kind is detection.FCOS:
        anchors = AnchorGenerator(((4,), (8,)), ((1.0,),) * 2)
        head = detection.fcos.FCOSHead(8, 1, 3, num_convs=0)
        kwargs = {"anchor_generator": anchors, "head": head, **kwargs}
    else:
        kwargs = {"anchor_generator": _anchors(), **kwargs}
    return kind(TinyBackbone(), 3, **{"min_size": 48, "max_size": 64, **kwargs})


def _sample():
    images = [facula.rand(3, 40, 40), facula.rand(3, 30, 48)]
    targets = [
        {
            "boxes": facula.tensor([[4.0, 4, 20, 20], [10, 8, 38, 36]]),
            "labels": facula.tensor([1, 2]),
            "masks": facula.ones(2, 40, 40, dtype=facula.uint8),
            "keypoints": facula.tensor([[[9.0, 9, 1]] * 4, [[20, 20, 1]] * 4]),
        },
        {
            "boxes": facula.zeros(0, 4),
            "labels": facula.zeros(0, dtype=facula.int64),
            "masks": facula.zeros(0, 30, 48, dtype=facula.uint8),
            "keypoints": facula.zeros(0, 4, 3),
        },
    ]
    return images, targets


KINDS = [
    detection.FasterRCNN,
    detection.MaskRCNN,
    detection.KeypointRCNN,
    detection.RetinaNet,
    detection.FCOS,
]


def test_every_detector_is_registered_with_its_weights():
    registered = [name for name in models.list_models() if hasattr(detection, name)]
    assert registered == NAMES
    for name in NAMES:
        weights = models.get_model_weights(name)
        assert weights.DEFAULT.url.endswith(".pth")
        assert len(weights.DEFAULT.meta["categories"]) == (2 if "keypoint" in name else 91)


def test_a_model_has_as_many_parameters_as_its_trained_weights():
    model = models.get_model("ssd300_vgg16", weights_backbone=None)
    n_params = models.get_model_weights("ssd300_vgg16").DEFAULT.meta["num_params"]
    assert sum(p.numel() for p in model.parameters()) == n_params


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_losses_have_gradients_and_boxes_are_inside_their_images(kind):
    model = _tiny(kind)
    images, targets = _sample()
    losses = model(images, targets)
    assert all(loss.shape == () and loss.isfinite() for loss in losses.values())
    sum(losses.values()).backward()
    assert all(p.grad is not None for p in model.backbone.parameters())
    assert "masks" in targets[0] and targets[0]["boxes"][0].tolist() == [4, 4, 20, 20]

    model.eval()
    found = model(images)
    assert len(found) == 2
    for image, detected in zip(images, found, strict=True):
        height, width = image.shape[-2:]
        boxes = detected["boxes"]
        assert (boxes >= 0).all() and (boxes[:, 2] <= width).all() and (boxes[:, 3] <= height).all()
        assert detected["scores"].shape == detected["labels"].shape == boxes.shape[:1]
        if kind is detection.MaskRCNN:
            assert detected["masks"].shape == (len(boxes), 1, height, width)
        if kind is detection.KeypointRCNN:
            assert detected["keypoints"].shape == (len(boxes), 4, 3)


def test_a_detector_learns_one_image():
    model = _tiny(detection.RetinaNet, score_thresh=0.3)
    image = facula.zeros(3, 48, 48)
    image[:, 8:32, 16:40] = 1
    target = {"boxes": facula.tensor([[16.0, 8, 40, 32]]), "labels": facula.tensor([1])}
    optimizer = facula.optim.Adam(model.parameters(), lr=3e-3)
    first = None
    for _ in range(60):
        loss = sum(model([image], [target]).values())
        first = first or loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.3 * first
    found = model.eval()([image])[0]
    assert found["labels"][0] == 1
    assert (found["boxes"][0] - target["boxes"][0]).abs().max() < 6


def test_detectors_of_any_thread_count_agree():
    model = _tiny(detection.FasterRCNN).eval()
    images, _ = _sample()
    before = facula.get_num_threads()
    results = []
    try:
        for n_threads in (1, 2, 8):
            facula.set_num_threads(n_threads)
            with facula.no_grad():
                results.append(model(images))
    finally:
        facula.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert all(facula.equal(a[key], b[key]) for key in a)


def test_training_needs_targets_with_proper_boxes():
    model = _tiny(detection.FasterRCNN)
    images, targets = _sample()
    with pytest.raises(AssertionError, match=r"FasterRCNN: expected targets in training mode"):
        model(images)
    targets[0]["boxes"] = facula.tensor([[4.0, 4, 4, 20], [10, 8, 38, 36]])
    with pytest.raises(AssertionError, match=r"positive width and height, got \[4\.8"):
        model(images, targets)
    targets[0]["boxes"] = facula.zeros(2, 3)
    with pytest.raises(AssertionError, match=r"expected boxes \(N, 4\), got \(2, 3\)"):
        model(images, targets)
    _, targets = _sample()
    targets[0]["labels"] = targets[0]["labels"].int()
    with pytest.raises(TypeError, match=r"RoIHeads: expected labels of the dtype int64"):
        model(images, targets)


def test_images_are_a_list_of_floating_point_tensors():
    model = _tiny(detection.RetinaNet).eval()
    with pytest.raises(TypeError, match=r"floating-point dtype with values from 0 to 1, got"):
        model([facula.zeros(3, 8, 8, dtype=facula.uint8)])
    with pytest.raises(ValueError, match=r"expected a list of images \(C, H, W\)"):
        model([facula.zeros(1, 3, 8, 8)])


def test_a_backbone_says_how_wide_it_is():
    with pytest.raises(ValueError, match=r"attribute out_channels.*Identity has none"):
        detection.FasterRCNN(nn.Identity(), 3)
    with pytest.raises(ValueError, match=r"expected either num_classes or box_predictor"):
        detection.FasterRCNN(TinyBackbone())


def test_images_of_nan_do_no_harm():
    for kind in (detection.FasterRCNN, detection.FCOS):
        model = _tiny(kind).eval()
        found = model([facula.full((3, 40, 40), math.nan)])
        assert len(found) == 1


def test_a_trained_detector_gets_a_head_for_other_classes():
    from facula.vision.models.detection.faster_rcnn import FastRCNNPredictor
    from facula.vision.models.detection.mask_rcnn import MaskRCNNPredictor

    model = _tiny(detection.MaskRCNN)
    n_features = model.roi_heads.box_predictor.cls_score.in_features
    model.roi_heads.box_predictor = FastRCNNPredictor(n_features, 7)
    n_channels = model.roi_heads.mask_predictor.conv5_mask.in_channels
    model.roi_heads.mask_predictor = MaskRCNNPredictor(n_channels, 16, 7)
    images, targets = _sample()
    targets[0]["labels"] = facula.tensor([5, 6])
    assert sum(model(images, targets).values()).isfinite()


def test_a_backbone_of_one_feature_map():
    from facula.vision.models.detection.rpn import AnchorGenerator
    from facula.vision.ops import MultiScaleRoIAlign

    backbone = nn.Sequential(nn.Conv2d(3, 8, 4, stride=4), nn.ReLU())
    backbone.out_channels = 8
    model = detection.FasterRCNN(
        backbone,
        num_classes=2,
        min_size=48,
        rpn_anchor_generator=AnchorGenerator(((8, 16, 32),), ((0.5, 1.0, 2.0),)),
        box_roi_pool=MultiScaleRoIAlign(featmap_names=["0"], output_size=7, sampling_ratio=2),
    ).eval()
    assert sorted(model([facula.rand(3, 40, 50)])[0]) == ["boxes", "labels", "scores"]
