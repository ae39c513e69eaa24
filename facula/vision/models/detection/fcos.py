"""FCOS (arXiv:1904.01355, arXiv:2006.09214): one stage, one box per place, without anchor shapes.

Images, targets and results are those of Faster R-CNN; class 0 is a class like the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula.nn import functional as F
from facula.vision.models._api import weights_enum
from facula.vision.models.detection import _utils as det_utils
from facula.vision.models.detection._builder import Backbone, detector
from facula.vision.models.detection._dense import DenseDetector
from facula.vision.models.detection._utils import Detection, Target
from facula.vision.models.detection.anchor_utils import AnchorGenerator
from facula.vision.models.detection.faster_rcnn import (
    IMAGE_MEAN,
    IMAGE_STD,
    out_channels_of,
    resnet50_fpn,
)
from facula.vision.models.detection.transform import GeneralizedRCNNTransform
from facula.vision.models.resnet import ResNet50_Weights
from facula.vision.ops.focal_loss import sigmoid_focal_loss
from facula.vision.ops.giou_loss import generalized_box_iou_loss

__all__ = ["FCOS", "FCOS_ResNet50_FPN_Weights", "fcos_resnet50_fpn"]

_Norm = Callable[..., nn.Module]


def _convs(channels: int, n: int, norm_layer: _Norm | None) -> nn.Sequential:
    norm_layer = norm_layer or partial(nn.GroupNorm, 32)
    layers: list[nn.Module] = []
    for _ in range(n):
        layers += [nn.Conv2d(channels, channels, 3, padding=1), norm_layer(channels), nn.ReLU()]
    return nn.Sequential(*layers)


class FCOSClassificationHead(nn.Module):
    """The classes of places.

    Args:
        in_channels: channels of the feature maps.
        num_anchors: anchors of a place.
        num_classes: classes that are scored, the background included.
        num_convs: convolutions before the result.
        prior_probability: the probability that an untrained network gives to every class.
        norm_layer: makes the normalisations of the convolutions; ``GroupNorm`` of 32 groups unless
            given.
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        num_convs: int = 4,
        prior_probability: float = 0.01,
        norm_layer: _Norm | None = None,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.num_anchors = num_anchors
        self.conv = _convs(in_channels, num_convs, norm_layer)
        det_utils.init_convs(self.conv, std=0.01)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, padding=1)
        det_utils.init_convs(self.cls_logits, std=0.01)
        assert self.cls_logits.bias is not None
        # Most places have no object. Without this the loss of the first steps is all theirs.
        nn.init.constant_(
            self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability)
        )

    def forward(self, x: list[Tensor]) -> Tensor:
        levels = [self.cls_logits(self.conv(level)) for level in x]
        return facula.cat([det_utils.per_place(y, self.num_classes) for y in levels], dim=1)


class FCOSRegressionHead(nn.Module):
    """The sides of boxes as seen from places, and how central the places are in them.

    Args:
        in_channels: channels of the feature maps.
        num_anchors: anchors of a place.
        num_convs: convolutions before the results.
        norm_layer: makes the normalisations of the convolutions; ``GroupNorm`` of 32 groups unless
            given.
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_convs: int = 4,
        norm_layer: _Norm | None = None,
    ) -> None:
        super().__init__()
        self.conv = _convs(in_channels, num_convs, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, padding=1)
        self.bbox_ctrness = nn.Conv2d(in_channels, num_anchors * 1, 3, padding=1)
        for part in (self.bbox_reg, self.bbox_ctrness, self.conv):
            det_utils.init_convs(part, std=0.01)

    def forward(self, x: list[Tensor]) -> tuple[Tensor, Tensor]:
        hidden = [self.conv(level) for level in x]
        sides = [det_utils.per_place(F.relu(self.bbox_reg(h)), 4) for h in hidden]
        centrality = [det_utils.per_place(self.bbox_ctrness(h), 1) for h in hidden]
        return facula.cat(sides, dim=1), facula.cat(centrality, dim=1)


class FCOSHead(nn.Module):
    """The classes, sides and centrality of places.

    Args:
        in_channels: channels of the feature maps.
        num_anchors: anchors of a place.
        num_classes: classes that are scored, the background included.
        num_convs: convolutions before each result.
    """

    def __init__(
        self, in_channels: int, num_anchors: int, num_classes: int, num_convs: int | None = 4
    ) -> None:
        super().__init__()
        n = 4 if num_convs is None else num_convs
        self.box_coder = det_utils.BoxLinearCoder(normalize_by_size=True)
        self.classification_head = FCOSClassificationHead(in_channels, num_anchors, num_classes, n)
        self.regression_head = FCOSRegressionHead(in_channels, num_anchors, n)

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        matched_idxs: list[Tensor],
    ) -> dict[str, Tensor]:
        """The three losses, by the number of places with an object."""
        labels, boxes = [], []
        for target, matched in zip(targets, matched_idxs, strict=True):
            if len(target["labels"]) == 0:
                label = target["labels"].new_zeros((len(matched),))
                box = target["boxes"].new_zeros((len(matched), 4))
            else:
                label = target["labels"][matched.clamp(min=0)]
                box = target["boxes"][matched.clamp(min=0)]
            labels.append(label.masked_fill(matched < 0, -1))
            boxes.append(box)
        label, box, anchor = facula.stack(labels), facula.stack(boxes), facula.stack(anchors)
        has_object = label >= 0
        n_objects = max(1, int(has_object.sum()))

        logits = head_outputs["cls_logits"]
        truth = facula.zeros_like(logits)
        # Places without an object count too: they are the zeros of all classes.
        truth[has_object, label[has_object]] = 1.0
        class_loss = sigmoid_focal_loss(logits, truth, reduction="sum")

        found = self.box_coder.decode(head_outputs["bbox_regression"], anchor)
        box_loss = generalized_box_iou_loss(found[has_object], box[has_object], reduction="sum")

        sides = self.box_coder.encode(anchor, box)[has_object]
        pairs = facula.stack([sides[:, [0, 2]], sides[:, [1, 3]]])
        # Where the place is between the left and right side, times where between the others.
        true_centrality = (pairs.amin(-1) / pairs.amax(-1)).prod(0).sqrt()
        centrality = head_outputs["bbox_ctrness"].squeeze(dim=2)[has_object]
        centrality_loss = F.binary_cross_entropy_with_logits(
            centrality, true_centrality, reduction="sum"
        )
        return {
            "classification": class_loss / n_objects,
            "bbox_regression": box_loss / n_objects,
            "bbox_ctrness": centrality_loss / n_objects,
        }

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        logits = self.classification_head(x)
        sides, centrality = self.regression_head(x)
        return {"cls_logits": logits, "bbox_regression": sides, "bbox_ctrness": centrality}


class FCOS(DenseDetector):
    """FCOS on any backbone.

    Args:
        backbone: makes one feature map or a dictionary of them; ``out_channels`` is their width.
        num_classes: number of classes, the background included, though no place is ever of that
            class.
        min_size, max_size, image_mean, image_std: arguments of :class:`GeneralizedRCNNTransform`.
        anchor_generator: one anchor per place, whose side is the step of its level.
        head: gives classes, sides and centrality.
        center_sampling_radius: places as near to the center of an object, in steps, may have it.
        score_thresh: boxes with less are dropped.
        nms_thresh: overlap from which the worse of two boxes of a class is dropped.
        detections_per_img: boxes of an image that are kept.
        topk_candidates: boxes of a level kept before overlapping ones are dropped.
        **kwargs: passed to :class:`GeneralizedRCNNTransform`.

    Example:
        >>> from facula.vision.models.detection import FCOS
        >>> from facula.vision.models.detection.backbone_utils import resnet_fpn_backbone
        >>> backbone = resnet_fpn_backbone(backbone_name="resnet18", weights=None)
        >>> model = FCOS(backbone, 3, min_size=64).eval()
        >>> sorted(model([facula.rand(3, 40, 50)])[0])
        ['boxes', 'labels', 'scores']
    """

    def __init__(
        self,
        backbone: Any,
        num_classes: int,
        min_size: int | tuple[int, ...] = 800,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        anchor_generator: AnchorGenerator | None = None,
        head: nn.Module | None = None,
        center_sampling_radius: float = 1.5,
        score_thresh: float = 0.2,
        nms_thresh: float = 0.6,
        detections_per_img: int = 100,
        topk_candidates: int = 1000,
        **kwargs: Any,
    ) -> None:
        channels = out_channels_of("FCOS", backbone)
        if not isinstance(anchor_generator, (AnchorGenerator, type(None))):
            raise TypeError("FCOS: expected anchor_generator to be an AnchorGenerator.")
        anchors = anchor_generator or AnchorGenerator(
            ((8,), (16,), (32,), (64,), (128,)), ((1.0,),) * 5
        )
        n_anchors = anchors.num_anchors_per_location()[0]
        if n_anchors != 1:
            raise AssertionError(f"FCOS: expected one anchor per place, got {n_anchors}.")
        super().__init__(
            backbone,
            anchors,
            head or FCOSHead(channels, n_anchors, num_classes),
            GeneralizedRCNNTransform(
                min_size,
                max_size,
                image_mean or list(IMAGE_MEAN),
                image_std or list(IMAGE_STD),
                **kwargs,
            ),
        )
        self.box_coder = det_utils.BoxLinearCoder(normalize_by_size=True)
        self.center_sampling_radius = center_sampling_radius
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates

    def _match(self, true: Tensor, anchors: Tensor, n_anchors: list[int]) -> Tensor:
        """The smallest object that each place may have, -1 for none."""
        if true.numel() == 0:
            return facula.full((len(anchors),), -1, dtype=facula.int64, device=anchors.device)
        places = (anchors[:, :2] + anchors[:, 2:]) / 2
        centers = (true[:, :2] + true[:, 2:]) / 2
        steps = anchors[:, 2] - anchors[:, 0]
        radius = self.center_sampling_radius * steps
        is_match = (places[:, None] - centers).abs().amax(dim=2) < radius[:, None]
        inside = facula.cat([places[:, None] - true[:, :2], true[:, 2:] - places[:, None]], dim=2)
        is_match &= inside.amin(dim=2) > 0
        # A level is for objects of its scale, the first and the last for all that are left.
        low, high = steps * 4, steps * 8
        low[: n_anchors[0]] = 0
        high[-n_anchors[-1] :] = float("inf")
        extent = inside.amax(dim=2)
        is_match &= (extent > low[:, None]) & (extent < high[:, None])
        areas = (true[:, 2] - true[:, 0]) * (true[:, 3] - true[:, 1])
        preference, matched = (is_match.to(facula.float32) * (1e8 - areas)).max(dim=1)
        chosen: Tensor = matched.masked_fill(preference < 1e-5, -1)
        return chosen

    def compute_loss(
        self,
        targets: list[Target],
        outputs: dict[str, Tensor],
        anchors: list[Tensor],
        n_anchors: list[int],
    ) -> dict[str, Tensor]:
        """The losses of classes, boxes and centrality."""
        matched = [
            self._match(target["boxes"], of_image, n_anchors)
            for target, of_image in zip(targets, anchors, strict=True)
        ]
        losses: dict[str, Tensor] = self.head.compute_loss(targets, outputs, anchors, matched)
        return losses

    def detect(
        self,
        outputs: dict[str, Tensor],
        anchors: list[Tensor],
        image_sizes: list[tuple[int, int]],
        n_anchors: list[int],
    ) -> list[Detection]:
        """The boxes of each image with their scores and labels, best first."""
        result = []
        scores = (outputs["cls_logits"].sigmoid() * outputs["bbox_ctrness"].sigmoid()).sqrt()
        for score, code, anchor, size in zip(
            scores, outputs["bbox_regression"], anchors, image_sizes, strict=True
        ):
            levels = list(zip(*(t.split(n_anchors) for t in (score, code, anchor)), strict=True))
            found = det_utils.best_of_levels(
                levels, self.box_coder.decode, size, self.score_thresh, self.topk_candidates
            )
            result.append(det_utils.keep_best(*found, self.nms_thresh, self.detections_per_img))
        return result


def _fcos(backbone: Backbone, num_classes: int, weights: Any, **kwargs: Any) -> FCOS:
    body = resnet50_fpn(backbone, is_coarse=True)
    return FCOS(body, num_classes, **kwargs)


FCOS_ResNet50_FPN_Weights: Any = weights_enum(__name__, "FCOS_ResNet50_FPN")

fcos_resnet50_fpn = detector(
    FCOS_ResNet50_FPN_Weights,
    "FCOS on a ResNet-50 with a feature pyramid",
    ResNet50_Weights.IMAGENET1K_V1,
    _fcos,
)
