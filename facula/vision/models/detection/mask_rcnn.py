"""Mask R-CNN (arXiv:1703.06870): Faster R-CNN that also gives a mask for each box.

Images, targets and results are those of Faster R-CNN; targets also have ``masks`` ``(N, H, W)`` of
0 and 1, results ``masks`` ``(N, 1, H, W)`` of probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from facula import nn
from facula.vision.models._api import weights_enum
from facula.vision.models.detection._builder import Backbone, detector
from facula.vision.models.detection.faster_rcnn import (
    FasterRCNN,
    default_pool,
    out_channels_of,
    resnet50_fpn,
    second_version,
)
from facula.vision.models.resnet import ResNet50_Weights
from facula.vision.ops._utils import move_keys
from facula.vision.ops.misc import Conv2dNormActivation
from facula.vision.ops.poolers import MultiScaleRoIAlign

__all__ = [
    "MaskRCNN",
    "MaskRCNN_ResNet50_FPN_V2_Weights",
    "MaskRCNN_ResNet50_FPN_Weights",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
]


class MaskRCNN(FasterRCNN):
    """Mask R-CNN on any backbone.

    Args:
        backbone: makes the feature maps. It and all arguments not named here are those of
            :class:`FasterRCNN`.
        num_classes: number of classes, the background included; ``None`` where both predictors are
            given.
        mask_roi_pool, mask_head, mask_predictor: parts that make the masks.

    Example:
        >>> from facula.vision.models.detection import MaskRCNN
        >>> from facula.vision.models.detection.backbone_utils import resnet_fpn_backbone
        >>> backbone = resnet_fpn_backbone(backbone_name="resnet18", weights=None)
        >>> model = MaskRCNN(backbone, 2, min_size=64).eval()
        >>> model([facula.rand(3, 32, 48)])[0]["masks"].shape[1:]
        torch.Size([1, 32, 48])
    """

    def __init__(
        self,
        backbone: Any,
        num_classes: int | None = None,
        *args: Any,
        mask_roi_pool: nn.Module | None = None,
        mask_head: nn.Module | None = None,
        mask_predictor: nn.Module | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(mask_roi_pool, (MultiScaleRoIAlign, type(None))):
            raise TypeError("MaskRCNN: expected mask_roi_pool to be a MultiScaleRoIAlign.")
        if num_classes is not None and mask_predictor is not None:
            raise ValueError("MaskRCNN: expected either num_classes or mask_predictor.")
        channels = out_channels_of("MaskRCNN", backbone)
        mask_head = mask_head or MaskRCNNHeads(channels, (256, 256, 256, 256), 1)
        if mask_predictor is None:
            if num_classes is None:
                raise ValueError("MaskRCNN: expected either num_classes or mask_predictor.")
            mask_predictor = MaskRCNNPredictor(256, 256, num_classes)
        super().__init__(backbone, num_classes, *args, **kwargs)
        self.roi_heads.mask_roi_pool = mask_roi_pool or default_pool(14)
        self.roi_heads.mask_head = mask_head
        self.roi_heads.mask_predictor = mask_predictor


class MaskRCNNHeads(nn.Sequential):
    """Convolutions of the features of boxes.

    Args:
        in_channels: channels of the features.
        layers: channels of each convolution.
        dilation: dilation of all convolutions.
        norm_layer: makes the normalisations of all convolutions.
    """

    _version = 2

    def __init__(
        self,
        in_channels: int,
        layers: Sequence[int],
        dilation: int,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        blocks: list[nn.Module] = []
        for width in layers:
            blocks.append(
                Conv2dNormActivation(
                    in_channels,
                    width,
                    padding=dilation,
                    dilation=dilation,
                    norm_layer=norm_layer,
                )
            )
            in_channels = width
        super().__init__(*blocks)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *args: Any
    ) -> None:
        moves = {f"mask_fcn{i + 1}": f"{i}.0" for i in range(len(self))}
        move_keys(state_dict, prefix, local_metadata, moves)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class MaskRCNNPredictor(nn.Sequential):
    """Masks of all classes, twice as large as the features that they are made of.

    Args:
        in_channels: channels of the features.
        dim_reduced: channels between.
        num_classes: number of classes, the background included.
    """

    def __init__(self, in_channels: int, dim_reduced: int, num_classes: int) -> None:
        super().__init__()
        self.conv5_mask = nn.ConvTranspose2d(in_channels, dim_reduced, 2, 2, 0)
        self.relu = nn.ReLU(inplace=True)
        self.mask_fcn_logits = nn.Conv2d(dim_reduced, num_classes, 1, 1, 0)
        for name, parameter in self.named_parameters():
            if "weight" in name:
                nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")


def _first(backbone: Backbone, num_classes: int, weights: Any, **kwargs: Any) -> MaskRCNN:
    return MaskRCNN(resnet50_fpn(backbone), num_classes, **kwargs)


def _second(backbone: Backbone, num_classes: int, weights: Any, **kwargs: Any) -> MaskRCNN:
    parts = second_version(backbone)
    parts["mask_head"] = MaskRCNNHeads(
        parts["backbone"].out_channels, [256] * 4, 1, norm_layer=nn.BatchNorm2d
    )
    return MaskRCNN(num_classes=num_classes, **parts, **kwargs)


MaskRCNN_ResNet50_FPN_Weights: Any = weights_enum(__name__, "MaskRCNN_ResNet50_FPN")
MaskRCNN_ResNet50_FPN_V2_Weights: Any = weights_enum(__name__, "MaskRCNN_ResNet50_FPN_V2")

maskrcnn_resnet50_fpn = detector(
    MaskRCNN_ResNet50_FPN_Weights,
    "Mask R-CNN on a ResNet-50 with a feature pyramid",
    ResNet50_Weights.IMAGENET1K_V1,
    _first,
    was_without_eps=True,
)
maskrcnn_resnet50_fpn_v2 = detector(
    MaskRCNN_ResNet50_FPN_V2_Weights,
    "Mask R-CNN with the improvements of https://arxiv.org/abs/2111.11429",
    ResNet50_Weights.IMAGENET1K_V1,
    _second,
    uses_backbone_weights=False,
)
