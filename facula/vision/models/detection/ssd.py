"""SSD (arXiv:1512.02325): one stage, default boxes on feature maps of falling size.

Images, targets and results are those of Faster R-CNN; class 0 is the background.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula._warnings import warn_user
from facula.nn import functional as F
from facula.vision.models._api import weights_enum
from facula.vision.models.detection import _utils as det_utils
from facula.vision.models.detection._builder import Backbone, detector
from facula.vision.models.detection._dense import DenseDetector
from facula.vision.models.detection._utils import Detection, Target
from facula.vision.models.detection.anchor_utils import DefaultBoxGenerator
from facula.vision.models.detection.backbone_utils import freeze_stages
from facula.vision.models.detection.faster_rcnn import IMAGE_MEAN, IMAGE_STD
from facula.vision.models.detection.transform import GeneralizedRCNNTransform
from facula.vision.models.vgg import VGG16_Weights, vgg16
from facula.vision.ops import boxes as box_ops

__all__ = ["SSD300_VGG16_Weights", "ssd300_vgg16"]


def _init_xavier(module: nn.Module) -> None:
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


class SSDScoringHead(nn.Module):
    """One module per feature map, and their results together.

    Args:
        module_list: the modules.
        num_columns: numbers of a box.
    """

    def __init__(self, module_list: nn.ModuleList, num_columns: int) -> None:
        super().__init__()
        self.module_list = module_list
        self.num_columns = num_columns

    def forward(self, x: list[Tensor]) -> Tensor:
        levels = [module(level) for module, level in zip(self.module_list, x, strict=True)]
        return facula.cat([det_utils.per_place(y, self.num_columns) for y in levels], dim=1)


class SSDClassificationHead(SSDScoringHead):
    """The classes of default boxes.

    Args:
        in_channels: channels of each feature map.
        num_anchors: anchors of a place of each feature map.
        num_classes: number of classes, the background included.
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        layers = nn.ModuleList(
            nn.Conv2d(c, num_classes * n, kernel_size=3, padding=1)
            for c, n in zip(in_channels, num_anchors, strict=True)
        )
        _init_xavier(layers)
        super().__init__(layers, num_classes)


class SSDRegressionHead(SSDScoringHead):
    """The codes of boxes of default boxes.

    Args:
        in_channels: channels of each feature map.
        num_anchors: anchors of a place of each feature map.
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int]) -> None:
        layers = nn.ModuleList(
            nn.Conv2d(c, 4 * n, kernel_size=3, padding=1)
            for c, n in zip(in_channels, num_anchors, strict=True)
        )
        _init_xavier(layers)
        super().__init__(layers, 4)


class SSDHead(nn.Module):
    """The classes and the codes of boxes of default boxes.

    Args:
        in_channels: channels of each feature map.
        num_anchors: anchors of a place of each feature map.
        num_classes: number of classes, the background included.
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        super().__init__()
        self.classification_head = SSDClassificationHead(in_channels, num_anchors, num_classes)
        self.regression_head = SSDRegressionHead(in_channels, num_anchors)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        return {
            "bbox_regression": self.regression_head(x),
            "cls_logits": self.classification_head(x),
        }


class SSD(DenseDetector):
    """SSD on any backbone.

    Args:
        backbone: makes a dictionary of feature maps.
        anchor_generator: makes the default boxes.
        size: width and height that images are brought to.
        num_classes: number of classes, the background included.
        image_mean, image_std: arguments of :class:`GeneralizedRCNNTransform`.
        head: gives classes and codes.
        score_thresh: boxes with less are dropped.
        nms_thresh: overlap from which the worse of two boxes of a class is dropped.
        detections_per_img: boxes of an image that are kept.
        iou_thresh: default boxes that overlap a true one by as much have its class.
        topk_candidates: boxes of a class kept before overlapping ones are dropped.
        positive_fraction: the share of boxes with an object in the loss of classes.
        **kwargs: passed to :class:`GeneralizedRCNNTransform`.
    """

    def __init__(
        self,
        backbone: Any,
        anchor_generator: DefaultBoxGenerator,
        size: tuple[int, int],
        num_classes: int,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        head: nn.Module | None = None,
        score_thresh: float = 0.01,
        nms_thresh: float = 0.45,
        detections_per_img: int = 200,
        iou_thresh: float = 0.5,
        topk_candidates: int = 400,
        positive_fraction: float = 0.25,
        **kwargs: Any,
    ) -> None:
        n_anchors = anchor_generator.num_anchors_per_location()
        if head is None:
            channels = getattr(backbone, "out_channels", None)
            channels = channels or det_utils.retrieve_out_channels(backbone, size)
            if len(channels) != len(n_anchors):
                raise ValueError(
                    f"SSD: the backbone makes {len(channels)} feature maps, but there are default "
                    f"boxes for {len(n_anchors)}."
                )
            head = SSDHead(channels, n_anchors, num_classes)
        transform = GeneralizedRCNNTransform(
            min(size),
            max(size),
            image_mean or list(IMAGE_MEAN),
            image_std or list(IMAGE_STD),
            size_divisible=1,
            fixed_size=size,
            **kwargs,
        )
        super().__init__(backbone, anchor_generator, head, transform)
        self.box_coder = det_utils.BoxCoder(weights=(10.0, 10.0, 5.0, 5.0))
        self.proposal_matcher = det_utils.SSDMatcher(iou_thresh)
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates
        self.neg_to_pos_ratio = (1.0 - positive_fraction) / positive_fraction

    def compute_loss(
        self,
        targets: list[Target],
        outputs: dict[str, Tensor],
        anchors: list[Tensor],
        n_anchors: list[int],
    ) -> dict[str, Tensor]:
        """The losses of boxes and classes; of the background only the worst boxes count."""
        matches = det_utils.match_anchors(self.proposal_matcher, targets, anchors)
        logits = outputs["cls_logits"]
        box_losses, labels, n_objects = [], [], 0
        for target, codes, of_image, matched in zip(
            targets, outputs["bbox_regression"], anchors, matches, strict=True
        ):
            chosen = det_utils.indices(matched >= 0)
            n_objects += chosen.numel()
            true = self.box_coder.encode_single(target["boxes"][matched[chosen]], of_image[chosen])
            box_losses.append(F.smooth_l1_loss(codes[chosen], true, reduction="sum"))
            label = facula.zeros(len(of_image), dtype=target["labels"].dtype, device=codes.device)
            label[chosen] = target["labels"][matched[chosen]]
            labels.append(label)
        classes = facula.stack(labels)
        class_loss = F.cross_entropy(
            logits.reshape(-1, logits.size(-1)), classes.reshape(-1), reduction="none"
        ).reshape(classes.shape)

        has_object = classes > 0
        n_negative = self.neg_to_pos_ratio * has_object.sum(1, keepdim=True)
        negative_loss = class_loss.detach().masked_fill(has_object, -math.inf)
        rank = negative_loss.sort(1, descending=True)[1].sort(1)[1]
        is_hard = rank < n_negative
        n = max(1, n_objects)
        return {
            "bbox_regression": facula.stack(box_losses).sum() / n,
            "classification": (class_loss[has_object].sum() + class_loss[is_hard].sum()) / n,
        }

    def detect(
        self,
        outputs: dict[str, Tensor],
        anchors: list[Tensor],
        image_sizes: list[tuple[int, int]],
        n_anchors: list[int],
    ) -> list[Detection]:
        """The boxes of each image with their scores and labels, best first."""
        result = []
        all_scores = F.softmax(outputs["cls_logits"], dim=-1)
        for codes, scores, of_image, size in zip(
            outputs["bbox_regression"], all_scores, anchors, image_sizes, strict=True
        ):
            boxes = self.box_coder.decode_single(codes, of_image)
            boxes = box_ops.clip_boxes_to_image(boxes, size)
            found = []
            for label in range(1, scores.size(1)):
                places = det_utils.indices(scores[:, label] > self.score_thresh)
                n_most = min(self.topk_candidates, places.numel())
                best, order = scores[places, label].topk(n_most)
                found.append((boxes[places[order]], best, facula.full_like(order, label)))
            best_boxes, best_scores, labels = (
                facula.cat(column) for column in zip(*found, strict=True)
            )
            result.append(
                det_utils.keep_best(
                    best_boxes, best_scores, labels, self.nms_thresh, self.detections_per_img
                )
            )
        return result


class SSDFeatureExtractorVGG(nn.Module):
    """A VGG with more and more coarse feature maps behind it.

    Args:
        backbone: the layers of the VGG.
        highres: whether one more feature map is made, for images of 512 pixels.
    """

    def __init__(self, backbone: nn.Sequential, highres: bool) -> None:
        super().__init__()
        pools = [i for i, layer in enumerate(backbone) if isinstance(layer, nn.MaxPool2d)]
        third, fourth = pools[2], pools[3]
        backbone[third].ceil_mode = True
        self.scale_weight = nn.Parameter(facula.ones(512) * 20)
        self.features = nn.Sequential(*backbone[:fourth])
        extra = nn.ModuleList(
            [
                _extra(1024, 256, 512, padding=1, stride=2),
                _extra(512, 128, 256, padding=1, stride=2),
                _extra(256, 128, 256),
                _extra(256, 128, 256),
            ]
        )
        if highres:
            extra.append(_extra(256, 128, 256, kernel_size=4))
        _init_xavier(extra)
        fc = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=False),
            nn.Conv2d(512, 1024, kernel_size=3, padding=6, dilation=6),
            nn.ReLU(inplace=True),
            nn.Conv2d(1024, 1024, kernel_size=1),
            nn.ReLU(inplace=True),
        )
        _init_xavier(fc)
        extra.insert(0, nn.Sequential(*backbone[fourth:-1], fc))
        self.extra = extra

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        x = self.features(x)
        levels = [self.scale_weight.reshape(1, -1, 1, 1) * F.normalize(x)]
        for block in self.extra:
            x = block(x)
            levels.append(x)
        return OrderedDict((str(i), level) for i, level in enumerate(levels))


def _extra(
    in_channels: int,
    between: int,
    channels: int,
    kernel_size: int = 3,
    padding: int = 0,
    stride: int = 1,
) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(in_channels, between, kernel_size=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(between, channels, kernel_size=kernel_size, padding=padding, stride=stride),
        nn.ReLU(inplace=True),
    )


def warn_of_size(name: str, kwargs: dict[str, Any]) -> None:
    """These models know their size."""
    if kwargs.pop("size", None) is not None:
        warn_user(f"{name}: the size is fixed, the one given is not used.")


def _ssd(backbone: Backbone, num_classes: int, weights: Any, **kwargs: Any) -> SSD:
    warn_of_size("ssd300_vgg16", kwargs)
    network: Any = vgg16(weights=backbone.weights, progress=backbone.progress)
    layers = network.features
    pools = [i for i, layer in enumerate(layers) if isinstance(layer, nn.MaxPool2d)]
    freeze_stages(layers, [0, *pools[:-1]], backbone.trainable_layers)
    anchors = DefaultBoxGenerator(
        [[2], [2, 3], [2, 3], [2, 3], [2], [2]],
        scales=[0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05],
        steps=[8, 16, 32, 64, 100, 300],
    )
    # The mean and the scale of the weights of the backbone, which are older than the others.
    defaults = {"image_mean": [0.48235, 0.45882, 0.40784], "image_std": [1.0 / 255.0] * 3}
    kwargs = {**defaults, **kwargs}
    body = SSDFeatureExtractorVGG(layers, highres=False)
    return SSD(body, anchors, (300, 300), num_classes, **kwargs)


SSD300_VGG16_Weights: Any = weights_enum(__name__, "SSD300_VGG16")

ssd300_vgg16 = detector(
    SSD300_VGG16_Weights,
    "SSD on a VGG-16, for images of 300 pixels",
    VGG16_Weights.IMAGENET1K_FEATURES,
    _ssd,
    n_trained=4,
)
