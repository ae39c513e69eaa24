"""RetinaNet (arXiv:1708.02002): one stage, with a loss that easy examples do not drown.

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
from facula.vision.models._api import weights_enum
from facula.vision.models.detection import _utils as det_utils
from facula.vision.models.detection._builder import Backbone, detector
from facula.vision.models.detection._dense import DenseDetector
from facula.vision.models.detection._utils import Detection, Target
from facula.vision.models.detection.anchor_utils import AnchorGenerator
from facula.vision.models.detection.backbone_utils import resnet_fpn_extractor
from facula.vision.models.detection.faster_rcnn import (
    IMAGE_MEAN,
    IMAGE_STD,
    out_channels_of,
    resnet50_fpn,
)
from facula.vision.models.detection.transform import GeneralizedRCNNTransform
from facula.vision.models.resnet import ResNet50_Weights, resnet50
from facula.vision.ops._utils import move_keys
from facula.vision.ops.feature_pyramid_network import LastLevelP6P7
from facula.vision.ops.focal_loss import sigmoid_focal_loss
from facula.vision.ops.misc import Conv2dNormActivation

__all__ = [
    "RetinaNet",
    "RetinaNet_ResNet50_FPN_V2_Weights",
    "RetinaNet_ResNet50_FPN_Weights",
    "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
]

_Norm = Callable[..., nn.Module]


def _default_anchors() -> AnchorGenerator:
    sizes = tuple(
        (x, int(x * 2 ** (1 / 3)), int(x * 2 ** (2 / 3))) for x in (32, 64, 128, 256, 512)
    )
    return AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * len(sizes))


class _Head(nn.Module):
    """Four convolutions, before the one that gives the result."""

    _version = 2

    def __init__(self, in_channels: int, norm_layer: _Norm | None) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            *(
                Conv2dNormActivation(in_channels, in_channels, norm_layer=norm_layer)
                for _ in range(4)
            )
        )

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *args: Any
    ) -> None:
        # In files of version 1 activations stand between the convolutions, not in blocks.
        moves = {f"conv.{2 * i}": f"conv.{i}.0" for i in range(4)}
        move_keys(state_dict, prefix, local_metadata, moves)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class RetinaNetClassificationHead(_Head):
    """The classes of anchors.

    Args:
        in_channels: channels of the feature maps.
        num_anchors: anchors of a place.
        num_classes: classes that are scored, the background included.
        prior_probability: the probability that an untrained network gives to every class.
        norm_layer: makes the normalisations of the convolutions.
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        prior_probability: float = 0.01,
        norm_layer: _Norm | None = None,
    ) -> None:
        super().__init__(in_channels, norm_layer)
        det_utils.init_convs(self.conv, std=0.01)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, padding=1)
        det_utils.init_convs(self.cls_logits, std=0.01)
        assert self.cls_logits.bias is not None
        nn.init.constant_(
            self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability)
        )
        self.num_classes = num_classes
        self.num_anchors = num_anchors

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, Tensor],
        matched_idxs: list[Tensor],
    ) -> Tensor:
        """The focal loss by the number of anchors with an object, the mean over images."""
        losses = []
        for target, logits, matched in zip(
            targets, head_outputs["cls_logits"], matched_idxs, strict=True
        ):
            has_object = matched >= 0
            truth = facula.zeros_like(logits)
            truth[has_object, target["labels"][matched[has_object]]] = 1.0
            counts = matched != det_utils.Matcher.BETWEEN_THRESHOLDS
            loss = sigmoid_focal_loss(logits[counts], truth[counts], reduction="sum")
            losses.append(loss / max(1, int(has_object.sum())))
        return facula.stack(losses).sum() / len(targets)

    def forward(self, x: list[Tensor]) -> Tensor:
        levels = [self.cls_logits(self.conv(level)) for level in x]
        return facula.cat([det_utils.per_place(y, self.num_classes) for y in levels], dim=1)


class RetinaNetRegressionHead(_Head):
    """The codes of boxes of anchors.

    Args:
        in_channels: channels of the feature maps.
        num_anchors: anchors of a place.
        norm_layer: makes the normalisations of the convolutions.
    """

    def __init__(self, in_channels: int, num_anchors: int, norm_layer: _Norm | None = None) -> None:
        super().__init__(in_channels, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, padding=1)
        det_utils.init_convs(self.bbox_reg, std=0.01)
        det_utils.init_convs(self.conv, std=0.01)
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self._loss_type = "l1"

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        matched_idxs: list[Tensor],
    ) -> Tensor:
        """The loss by the number of anchors with an object, the mean over images."""
        losses = []
        for target, codes, of_image, matched in zip(
            targets, head_outputs["bbox_regression"], anchors, matched_idxs, strict=True
        ):
            chosen = det_utils.indices(matched >= 0)
            true = target["boxes"][matched[chosen]]
            loss = det_utils.box_loss(
                self._loss_type, self.box_coder, of_image[chosen], true, codes[chosen]
            )
            losses.append(loss / max(1, chosen.numel()))
        return facula.stack(losses).sum() / max(1, len(targets))

    def forward(self, x: list[Tensor]) -> Tensor:
        levels = [self.bbox_reg(self.conv(level)) for level in x]
        return facula.cat([det_utils.per_place(level, 4) for level in levels], dim=1)


class RetinaNetHead(nn.Module):
    """The classes and the codes of boxes of anchors.

    Args:
        in_channels: channels of the feature maps.
        num_anchors: anchors of a place.
        num_classes: classes that are scored, the background included.
        norm_layer: makes the normalisations of the convolutions.
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        norm_layer: _Norm | None = None,
    ) -> None:
        super().__init__()
        self.classification_head = RetinaNetClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer=norm_layer
        )
        self.regression_head = RetinaNetRegressionHead(in_channels, num_anchors, norm_layer)

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        matched_idxs: list[Tensor],
    ) -> dict[str, Tensor]:
        """The losses of both."""
        return {
            "classification": self.classification_head.compute_loss(
                targets, head_outputs, matched_idxs
            ),
            "bbox_regression": self.regression_head.compute_loss(
                targets, head_outputs, anchors, matched_idxs
            ),
        }

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        return {
            "cls_logits": self.classification_head(x),
            "bbox_regression": self.regression_head(x),
        }


class RetinaNet(DenseDetector):
    """RetinaNet on any backbone.

    Args:
        backbone: makes one feature map or a dictionary of them; ``out_channels`` is their width.
        num_classes: number of classes, the background included, though no anchor is ever of that
            class.
        min_size, max_size, image_mean, image_std: arguments of :class:`GeneralizedRCNNTransform`.
        anchor_generator, head, proposal_matcher: parts that take the place of the usual ones.
        score_thresh: boxes with less are dropped.
        nms_thresh: overlap from which the worse of two boxes of a class is dropped.
        detections_per_img: boxes of an image that are kept.
        fg_iou_thresh: anchors that overlap a true box by as much have an object.
        bg_iou_thresh: anchors that overlap none by as much have none.
        topk_candidates: boxes of a level kept before overlapping ones are dropped.
        **kwargs: passed to :class:`GeneralizedRCNNTransform`.

    Example:
        >>> from facula.vision.models.detection import RetinaNet
        >>> from facula.vision.models.detection.backbone_utils import resnet_fpn_backbone
        >>> backbone = resnet_fpn_backbone(backbone_name="resnet18", weights=None)
        >>> model = RetinaNet(backbone, 3, min_size=64).eval()
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
        proposal_matcher: det_utils.Matcher | None = None,
        score_thresh: float = 0.05,
        nms_thresh: float = 0.5,
        detections_per_img: int = 300,
        fg_iou_thresh: float = 0.5,
        bg_iou_thresh: float = 0.4,
        topk_candidates: int = 1000,
        **kwargs: Any,
    ) -> None:
        channels = out_channels_of("RetinaNet", backbone)
        if not isinstance(anchor_generator, (AnchorGenerator, type(None))):
            raise TypeError("RetinaNet: expected anchor_generator to be an AnchorGenerator.")
        anchors = anchor_generator or _default_anchors()
        n_anchors = anchors.num_anchors_per_location()[0]
        super().__init__(
            backbone,
            anchors,
            head or RetinaNetHead(channels, n_anchors, num_classes),
            GeneralizedRCNNTransform(
                min_size,
                max_size,
                image_mean or list(IMAGE_MEAN),
                image_std or list(IMAGE_STD),
                **kwargs,
            ),
        )
        self.proposal_matcher = proposal_matcher or det_utils.Matcher(
            fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True
        )
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates

    def compute_loss(
        self,
        targets: list[Target],
        outputs: dict[str, Tensor],
        anchors: list[Tensor],
        n_anchors: list[int],
    ) -> dict[str, Tensor]:
        """The losses of classes and boxes."""
        matched = det_utils.match_anchors(self.proposal_matcher, targets, anchors)
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
        scores = outputs["cls_logits"].sigmoid()
        for score, code, anchor, size in zip(
            scores, outputs["bbox_regression"], anchors, image_sizes, strict=True
        ):
            levels = list(zip(*(t.split(n_anchors) for t in (score, code, anchor)), strict=True))
            found = det_utils.best_of_levels(
                levels, self.box_coder.decode_single, size, self.score_thresh, self.topk_candidates
            )
            result.append(det_utils.keep_best(*found, self.nms_thresh, self.detections_per_img))
        return result


def _first(backbone: Backbone, num_classes: int, weights: Any, **kwargs: Any) -> RetinaNet:
    body = resnet50_fpn(backbone, is_coarse=True)
    return RetinaNet(body, num_classes, **kwargs)


def _second(backbone: Backbone, num_classes: int, weights: Any, **kwargs: Any) -> RetinaNet:
    network = resnet50(weights=backbone.weights, progress=backbone.progress)
    body = resnet_fpn_extractor(
        network, backbone.trainable_layers, [2, 3, 4], LastLevelP6P7(2048, 256)
    )
    anchors = _default_anchors()
    head = RetinaNetHead(
        body.out_channels,
        anchors.num_anchors_per_location()[0],
        num_classes,
        norm_layer=partial(nn.GroupNorm, 32),
    )
    head.regression_head._loss_type = "giou"
    return RetinaNet(body, num_classes, anchor_generator=anchors, head=head, **kwargs)


RetinaNet_ResNet50_FPN_Weights: Any = weights_enum(__name__, "RetinaNet_ResNet50_FPN")
RetinaNet_ResNet50_FPN_V2_Weights: Any = weights_enum(__name__, "RetinaNet_ResNet50_FPN_V2")

retinanet_resnet50_fpn = detector(
    RetinaNet_ResNet50_FPN_Weights,
    "RetinaNet on a ResNet-50 with a feature pyramid",
    ResNet50_Weights.IMAGENET1K_V1,
    _first,
    was_without_eps=True,
)
retinanet_resnet50_fpn_v2 = detector(
    RetinaNet_ResNet50_FPN_V2_Weights,
    "RetinaNet with the improvements of https://arxiv.org/abs/1912.02424",
    ResNet50_Weights.IMAGENET1K_V1,
    _second,
    uses_backbone_weights=False,
)
