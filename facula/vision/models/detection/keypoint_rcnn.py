"""Keypoint R-CNN (arXiv:1703.06870): Faster R-CNN that also gives the keypoints of each box.

Images, targets and results are those of Faster R-CNN; targets also have ``keypoints``
``(N, K, 3)``, x, y and whether it is visible; results also ``keypoints_scores`` ``(N, K)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import nn
from facula._core import Tensor
from facula.nn import functional as F
from facula.vision.models._api import weights_enum
from facula.vision.models._utils import _ovewrite_value_param
from facula.vision.models.detection._builder import Backbone, detector
from facula.vision.models.detection.faster_rcnn import (
    FasterRCNN,
    default_pool,
    out_channels_of,
    resnet50_fpn,
)
from facula.vision.models.resnet import ResNet50_Weights
from facula.vision.ops.poolers import MultiScaleRoIAlign

__all__ = ["KeypointRCNN", "KeypointRCNN_ResNet50_FPN_Weights", "keypointrcnn_resnet50_fpn"]


class KeypointRCNN(FasterRCNN):
    """Keypoint R-CNN on any backbone.

    Args:
        backbone: makes the feature maps. It and all arguments not named here are those of
            :class:`FasterRCNN`.
        num_classes: number of classes, the background included; ``None`` where ``box_predictor`` is
            given.
        min_size: the length of the shorter side; several sizes from 640 to 800 unless given.
        keypoint_roi_pool, keypoint_head, keypoint_predictor: parts that find the keypoints.
        num_keypoints: keypoints of an object, 17 unless ``keypoint_predictor`` is given.

    Example:
        >>> from facula.vision.models.detection import KeypointRCNN
        >>> from facula.vision.models.detection.backbone_utils import resnet_fpn_backbone
        >>> backbone = resnet_fpn_backbone(backbone_name="resnet18", weights=None)
        >>> model = KeypointRCNN(backbone, 2, min_size=64, num_keypoints=5).eval()
        >>> model([facula.rand(3, 32, 48)])[0]["keypoints"].shape[1:]
        torch.Size([5, 3])
    """

    def __init__(
        self,
        backbone: Any,
        num_classes: int | None = None,
        min_size: int | tuple[int, ...] | None = None,
        *args: Any,
        keypoint_roi_pool: nn.Module | None = None,
        keypoint_head: nn.Module | None = None,
        keypoint_predictor: nn.Module | None = None,
        num_keypoints: int | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(keypoint_roi_pool, (MultiScaleRoIAlign, type(None))):
            raise TypeError("KeypointRCNN: expected keypoint_roi_pool to be a MultiScaleRoIAlign.")
        if num_keypoints is not None and keypoint_predictor is not None:
            raise ValueError("KeypointRCNN: expected either num_keypoints or keypoint_predictor.")
        channels = out_channels_of("KeypointRCNN", backbone)
        keypoint_head = keypoint_head or KeypointRCNNHeads(channels, (512,) * 8)
        keypoint_predictor = keypoint_predictor or KeypointRCNNPredictor(512, num_keypoints or 17)
        sizes = min_size or (640, 672, 704, 736, 768, 800)
        super().__init__(backbone, num_classes, sizes, *args, **kwargs)
        self.roi_heads.keypoint_roi_pool = keypoint_roi_pool or default_pool(14)
        self.roi_heads.keypoint_head = keypoint_head
        self.roi_heads.keypoint_predictor = keypoint_predictor


class KeypointRCNNHeads(nn.Sequential):
    """Convolutions of the features of boxes.

    Args:
        in_channels: channels of the features.
        layers: channels of each convolution.
    """

    def __init__(self, in_channels: int, layers: Sequence[int]) -> None:
        blocks: list[nn.Module] = []
        for width in layers:
            blocks += [nn.Conv2d(in_channels, width, 3, stride=1, padding=1), nn.ReLU(inplace=True)]
            in_channels = width
        super().__init__(*blocks)
        for layer in self.children():
            if isinstance(layer, nn.Conv2d):
                _init(layer)


class KeypointRCNNPredictor(nn.Module):
    """A heatmap per keypoint, four times as large as the features that they are made of.

    Args:
        in_channels: channels of the features.
        num_keypoints: keypoints of an object.
    """

    def __init__(self, in_channels: int, num_keypoints: int) -> None:
        super().__init__()
        self.kps_score_lowres = nn.ConvTranspose2d(
            in_channels, num_keypoints, 4, stride=2, padding=1
        )
        _init(self.kps_score_lowres)
        self.up_scale = 2
        self.out_channels = num_keypoints

    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(
            self.kps_score_lowres(x),
            scale_factor=float(self.up_scale),
            mode="bilinear",
            align_corners=False,
            recompute_scale_factor=False,
        )


def _init(layer: nn.Conv2d | nn.ConvTranspose2d) -> None:
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)


def _keypoint_rcnn(
    backbone: Backbone,
    num_classes: int,
    weights: Any,
    num_keypoints: int | None = None,
    **kwargs: Any,
) -> KeypointRCNN:
    if weights is not None:
        n_points = len(weights.meta["keypoint_names"])
        num_keypoints = _ovewrite_value_param("num_keypoints", num_keypoints, n_points)
    return KeypointRCNN(resnet50_fpn(backbone), num_classes, num_keypoints=num_keypoints, **kwargs)


KeypointRCNN_ResNet50_FPN_Weights: Any = weights_enum(__name__, "KeypointRCNN_ResNet50_FPN")

keypointrcnn_resnet50_fpn = detector(
    KeypointRCNN_ResNet50_FPN_Weights,
    "Keypoint R-CNN on a ResNet-50 with a feature pyramid; takes ``num_keypoints`` too",
    ResNet50_Weights.IMAGENET1K_V1,
    _keypoint_rcnn,
    n_classes=2,
    was_without_eps=True,
    own_argument=("num_keypoints", "num_classes"),
)
