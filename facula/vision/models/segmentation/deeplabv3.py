"""DeepLab v3: `Rethinking Atrous Convolution <https://arxiv.org/abs/1706.05587>`_."""

from collections.abc import Sequence
from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula.vision.models._api import weights_enum
from facula.vision.models.mobilenetv3 import (
    MobileNet_V3_Large_Weights,
    MobileNetV3,
    mobilenet_v3_large,
)
from facula.vision.models.resnet import (
    ResNet,
    ResNet50_Weights,
    ResNet101_Weights,
    resnet50,
    resnet101,
)
from facula.vision.models.segmentation._utils import (
    _SimpleSegmentationModel,
    cut_mobilenet,
    cut_resnet,
    resize,
    segmentation_builder,
)
from facula.vision.models.segmentation.fcn import FCNHead

__all__ = [
    "DeepLabV3",
    "DeepLabV3_MobileNet_V3_Large_Weights",
    "DeepLabV3_ResNet50_Weights",
    "DeepLabV3_ResNet101_Weights",
    "deeplabv3_mobilenet_v3_large",
    "deeplabv3_resnet50",
    "deeplabv3_resnet101",
]


class DeepLabV3(_SimpleSegmentationModel):
    """A backbone and a head of dilated convolutions at several scales.

    Args:
        backbone: makes a dictionary with ``"out"`` and, for the second head, ``"aux"``.
        classifier: makes the scores of the classes from ``"out"``.
        aux_classifier: makes the scores of the second head from ``"aux"``; ``None`` for no second
            head.

    Shape:
        input ``(N, 3, H, W)``; the result is a dictionary of scores ``(N, num_classes, H, W)``:
        ``"out"`` and, with ``aux_classifier``, ``"aux"``.
    """


class ASPPConv(nn.Sequential):
    """A dilated 3x3 convolution."""

    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        super().__init__(
            nn.Conv2d(
                in_channels, out_channels, 3, padding=dilation, dilation=dilation, bias=False
            ),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )


class ASPPPooling(nn.Sequential):
    """The mean of the image at each of its places."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(in_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )

    def forward(self, x: Tensor) -> Tensor:
        size = x.shape[-2:]
        return resize(super().forward(x), size)


class ASPP(nn.Module):
    """Convolutions at several scales side by side, and one that joins their results.

    Args:
        in_channels: channels of the input.
        atrous_rates: dilations of the 3x3 convolutions.
        out_channels: channels of each branch, and of the result.

    Shape:
        input ``(N, in_channels, H, W)``; result ``(N, out_channels, H, W)``.
    """

    def __init__(
        self, in_channels: int, atrous_rates: Sequence[int], out_channels: int = 256
    ) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            [
                nn.Sequential(
                    nn.Conv2d(in_channels, out_channels, 1, bias=False),
                    nn.BatchNorm2d(out_channels),
                    nn.ReLU(),
                ),
                *(ASPPConv(in_channels, out_channels, rate) for rate in atrous_rates),
                ASPPPooling(in_channels, out_channels),
            ]
        )
        self.project = nn.Sequential(
            nn.Conv2d(len(self.convs) * out_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
            nn.Dropout(0.5),
        )

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.project(facula.cat([conv(x) for conv in self.convs], dim=1))
        return result


class DeepLabHead(nn.Sequential):
    """:class:`ASPP` and two convolutions to the scores of the classes."""

    def __init__(
        self, in_channels: int, num_classes: int, atrous_rates: Sequence[int] = (12, 24, 36)
    ) -> None:
        super().__init__(
            ASPP(in_channels, atrous_rates),
            nn.Conv2d(256, 256, 3, padding=1, bias=False),
            nn.BatchNorm2d(256),
            nn.ReLU(),
            nn.Conv2d(256, num_classes, 1),
        )


def _deeplabv3_resnet(backbone: ResNet, num_classes: int, aux: bool | None) -> DeepLabV3:
    aux_classifier = FCNHead(1024, num_classes) if aux else None
    return DeepLabV3(cut_resnet(backbone, aux), DeepLabHead(2048, num_classes), aux_classifier)


def _deeplabv3_mobilenetv3(backbone: MobileNetV3, num_classes: int, aux: bool | None) -> DeepLabV3:
    ends = {"out": -1, "aux": -4} if aux else {"out": -1}
    body, channels = cut_mobilenet(backbone, **ends)
    aux_classifier = FCNHead(channels["aux"], num_classes) if aux else None
    return DeepLabV3(body, DeepLabHead(channels["out"], num_classes), aux_classifier)


DeepLabV3_ResNet50_Weights: Any = weights_enum(__name__, "DeepLabV3_ResNet50")
DeepLabV3_ResNet101_Weights: Any = weights_enum(__name__, "DeepLabV3_ResNet101")
DeepLabV3_MobileNet_V3_Large_Weights: Any = weights_enum(__name__, "DeepLabV3_MobileNet_V3_Large")

deeplabv3_resnet50 = segmentation_builder(
    DeepLabV3_ResNet50_Weights,
    "DeepLab v3 on ResNet-50",
    _deeplabv3_resnet,
    resnet50,
    ResNet50_Weights.IMAGENET1K_V1,
    replace_stride_with_dilation=[False, True, True],
)
deeplabv3_resnet101 = segmentation_builder(
    DeepLabV3_ResNet101_Weights,
    "DeepLab v3 on ResNet-101",
    _deeplabv3_resnet,
    resnet101,
    ResNet101_Weights.IMAGENET1K_V1,
    replace_stride_with_dilation=[False, True, True],
)
deeplabv3_mobilenet_v3_large = segmentation_builder(
    DeepLabV3_MobileNet_V3_Large_Weights,
    "DeepLab v3 on MobileNet v3",
    _deeplabv3_mobilenetv3,
    mobilenet_v3_large,
    MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    dilated=True,
)
