"""SSDlite (arXiv:1801.04381, arXiv:1905.02244): SSD of convolutions that telephones can afford.

Images, targets and results are those of Faster R-CNN; class 0 is the background.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from facula import nn
from facula._core import Tensor
from facula.vision.models._api import weights_enum
from facula.vision.models.detection import _utils as det_utils
from facula.vision.models.detection._builder import Backbone, detector
from facula.vision.models.detection.anchor_utils import DefaultBoxGenerator
from facula.vision.models.detection.backbone_utils import freeze_stages, mobilenet_stages
from facula.vision.models.detection.ssd import SSD, SSDScoringHead, warn_of_size
from facula.vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from facula.vision.ops.misc import Conv2dNormActivation

__all__ = ["SSDLite320_MobileNet_V3_Large_Weights", "ssdlite320_mobilenet_v3_large"]

_Norm = Callable[..., nn.Module]


def _depthwise(channels: int, norm_layer: _Norm, stride: int = 1) -> Conv2dNormActivation:
    return Conv2dNormActivation(
        channels,
        channels,
        kernel_size=3,
        stride=stride,
        groups=channels,
        norm_layer=norm_layer,
        activation_layer=nn.ReLU6,
    )


def _pointwise(in_channels: int, channels: int, norm_layer: _Norm) -> Conv2dNormActivation:
    return Conv2dNormActivation(
        in_channels, channels, kernel_size=1, norm_layer=norm_layer, activation_layer=nn.ReLU6
    )


def _extra_block(in_channels: int, channels: int, norm_layer: _Norm) -> nn.Sequential:
    return nn.Sequential(
        _pointwise(in_channels, channels // 2, norm_layer),
        _depthwise(channels // 2, norm_layer, stride=2),
        _pointwise(channels // 2, channels, norm_layer),
    )


class _LiteHead(SSDScoringHead):
    def __init__(
        self, in_channels: list[int], num_anchors: list[int], n_columns: int, norm_layer: _Norm
    ) -> None:
        layers = nn.ModuleList(
            nn.Sequential(_depthwise(c, norm_layer), nn.Conv2d(c, n_columns * n, 1))
            for c, n in zip(in_channels, num_anchors, strict=True)
        )
        det_utils.init_convs(layers, std=0.03)
        super().__init__(layers, n_columns)


class SSDLiteClassificationHead(_LiteHead):
    """The classes of default boxes.

    Args:
        in_channels: channels of each feature map.
        num_anchors: anchors of a place of each feature map.
        num_classes: number of classes, the background included.
        norm_layer: makes the normalisations of the convolutions.
    """

    def __init__(
        self, in_channels: list[int], num_anchors: list[int], num_classes: int, norm_layer: _Norm
    ) -> None:
        super().__init__(in_channels, num_anchors, num_classes, norm_layer)


class SSDLiteRegressionHead(_LiteHead):
    """The codes of boxes of default boxes.

    Args:
        in_channels: channels of each feature map.
        num_anchors: anchors of a place of each feature map.
        norm_layer: makes the normalisations of the convolutions.
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int], norm_layer: _Norm) -> None:
        super().__init__(in_channels, num_anchors, 4, norm_layer)


class SSDLiteHead(nn.Module):
    """The classes and the codes of boxes of default boxes.

    Args:
        in_channels: channels of each feature map.
        num_anchors: anchors of a place of each feature map.
        num_classes: number of classes, the background included.
        norm_layer: makes the normalisations of the convolutions.
    """

    def __init__(
        self,
        in_channels: list[int],
        num_anchors: list[int],
        num_classes: int,
        norm_layer: _Norm,
    ) -> None:
        super().__init__()
        self.classification_head = SSDLiteClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer
        )
        self.regression_head = SSDLiteRegressionHead(in_channels, num_anchors, norm_layer)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        return {
            "bbox_regression": self.regression_head(x),
            "cls_logits": self.classification_head(x),
        }


class SSDLiteFeatureExtractorMobileNet(nn.Module):
    """A MobileNet with more and more coarse feature maps behind it.

    Args:
        backbone: the layers of the MobileNet.
        c4_pos: the block whose expansion is the first feature map.
        norm_layer: makes the normalisations of the convolutions behind the backbone.
        width_mult: factor of the channels of the feature maps behind the backbone.
        min_depth: the least channels of the feature maps behind the backbone.
    """

    def __init__(
        self,
        backbone: Any,
        c4_pos: int,
        norm_layer: _Norm,
        width_mult: float = 1.0,
        min_depth: int = 16,
    ) -> None:
        super().__init__()
        block = backbone[c4_pos]
        if block.use_res_connect:
            raise ValueError(
                "SSDLiteFeatureExtractorMobileNet: expected a block at c4_pos that is not added to "
                "its input."
            )
        self.features = nn.Sequential(
            nn.Sequential(*backbone[:c4_pos], block.block[0]),
            nn.Sequential(block.block[1:], *backbone[c4_pos + 1 :]),
        )
        widths = [max(min_depth, int(width * width_mult)) for width in (512, 256, 256, 128)]
        widths = [backbone[-1].out_channels, *widths]
        self.extra = nn.ModuleList(
            _extra_block(before, after, norm_layer) for before, after in pairwise(widths)
        )
        det_utils.init_convs(self.extra, std=0.03)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        levels = []
        for block in (*self.features, *self.extra):
            x = block(x)
            levels.append(x)
        return OrderedDict((str(i), level) for i, level in enumerate(levels))


def _ssdlite(
    backbone: Backbone,
    num_classes: int,
    weights: Any,
    norm_layer: _Norm | None = None,
    **kwargs: Any,
) -> SSD:
    warn_of_size("ssdlite320_mobilenet_v3_large", kwargs)
    norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.03)
    # Half of the last channels, unless the weights have all of them.
    network: Any = mobilenet_v3_large(
        weights=backbone.weights,
        progress=backbone.progress,
        norm_layer=norm_layer,
        reduced_tail=backbone.weights is None,
    )
    if backbone.weights is None:
        det_utils.init_convs(network, std=0.03)
    layers = network.features
    starts = mobilenet_stages(layers)
    freeze_stages(layers, starts, backbone.trainable_layers)
    body = SSDLiteFeatureExtractorMobileNet(layers, starts[-2], norm_layer)
    size = (320, 320)
    anchors = DefaultBoxGenerator([[2, 3]] * 6, min_ratio=0.2, max_ratio=0.95)
    channels = det_utils.retrieve_out_channels(body, size)
    head = SSDLiteHead(channels, anchors.num_anchors_per_location(), num_classes, norm_layer)
    defaults = {
        "score_thresh": 0.001,
        "nms_thresh": 0.55,
        "detections_per_img": 300,
        "topk_candidates": 300,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
    }
    return SSD(body, anchors, size, num_classes, head=head, **{**defaults, **kwargs})


SSDLite320_MobileNet_V3_Large_Weights: Any = weights_enum(__name__, "SSDLite320_MobileNet_V3_Large")

ssdlite320_mobilenet_v3_large = detector(
    SSDLite320_MobileNet_V3_Large_Weights,
    "SSDlite on a MobileNet v3, for images of 320 pixels; takes ``norm_layer`` too",
    MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    _ssdlite,
    n_stages=6,
    n_trained=6,
    own_argument=("norm_layer", "trainable_backbone_layers"),
)
