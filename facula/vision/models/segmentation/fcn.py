"""FCN: `Fully Convolutional Networks <https://arxiv.org/abs/1411.4038>`_."""

from typing import Any

from facula import nn
from facula.vision.models._api import weights_enum
from facula.vision.models.resnet import (
    ResNet,
    ResNet50_Weights,
    ResNet101_Weights,
    resnet50,
    resnet101,
)
from facula.vision.models.segmentation._utils import (
    _SimpleSegmentationModel,
    cut_resnet,
    segmentation_builder,
)

__all__ = [
    "FCN",
    "FCN_ResNet50_Weights",
    "FCN_ResNet101_Weights",
    "fcn_resnet50",
    "fcn_resnet101",
]


class FCN(_SimpleSegmentationModel):
    """A backbone and a head of two convolutions.

    Args:
        backbone: makes a dictionary with ``"out"`` and, for the second head, ``"aux"``.
        classifier: makes the scores of the classes from ``"out"``.
        aux_classifier: makes the scores of the second head from ``"aux"``; ``None`` for no second
            head.

    Shape:
        input ``(N, 3, H, W)``; the result is a dictionary of scores ``(N, num_classes, H, W)``:
        ``"out"`` and, with ``aux_classifier``, ``"aux"``.
    """


class FCNHead(nn.Sequential):
    """A convolution to a quarter of the channels, and one to the scores of the classes."""

    def __init__(self, in_channels: int, channels: int) -> None:
        width = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(width, channels, 1),
        )


def _fcn_resnet(backbone: ResNet, num_classes: int, aux: bool | None) -> FCN:
    aux_classifier = FCNHead(1024, num_classes) if aux else None
    return FCN(cut_resnet(backbone, aux), FCNHead(2048, num_classes), aux_classifier)


FCN_ResNet50_Weights: Any = weights_enum(__name__, "FCN_ResNet50")
FCN_ResNet101_Weights: Any = weights_enum(__name__, "FCN_ResNet101")

fcn_resnet50 = segmentation_builder(
    FCN_ResNet50_Weights,
    "FCN on ResNet-50",
    _fcn_resnet,
    resnet50,
    ResNet50_Weights.IMAGENET1K_V1,
    replace_stride_with_dilation=[False, True, True],
)
fcn_resnet101 = segmentation_builder(
    FCN_ResNet101_Weights,
    "FCN on ResNet-101",
    _fcn_resnet,
    resnet101,
    ResNet101_Weights.IMAGENET1K_V1,
    replace_stride_with_dilation=[False, True, True],
)
