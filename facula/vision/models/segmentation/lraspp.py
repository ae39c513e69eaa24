"""LR-ASPP: `Searching for MobileNetV3 <https://arxiv.org/abs/1905.02244>`_."""

from collections import OrderedDict
from typing import Any

from facula import nn
from facula._core import Tensor
from facula.vision.models._api import accept_weights, register_model, weights_enum
from facula.vision.models._utils import _ovewrite_value_param
from facula.vision.models.mobilenetv3 import (
    MobileNet_V3_Large_Weights,
    MobileNetV3,
    mobilenet_v3_large,
)
from facula.vision.models.segmentation._utils import cut_mobilenet, resize

__all__ = ["LRASPP", "LRASPP_MobileNet_V3_Large_Weights", "lraspp_mobilenet_v3_large"]


class LRASPP(nn.Module):
    """A backbone and a light head on features of two sizes.

    Args:
        backbone: makes a dictionary with ``"low"`` and ``"high"``.
        low_channels: channels of ``"low"``.
        high_channels: channels of ``"high"``.
        num_classes: channels of the result, the background's included.
        inter_channels: channels within the head.

    Shape:
        input ``(N, 3, H, W)``; the result is a dictionary of scores ``(N, num_classes, H, W)``
        with the key ``"out"``.
    """

    def __init__(
        self,
        backbone: nn.Module,
        low_channels: int,
        high_channels: int,
        num_classes: int,
        inter_channels: int = 128,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input: Tensor) -> OrderedDict[str, Tensor]:
        return OrderedDict(out=resize(self.classifier(self.backbone(input)), input.shape[-2:]))


class LRASPPHead(nn.Module):
    """The high features, scaled by their means, and the low ones, each to the scores."""

    def __init__(
        self, low_channels: int, high_channels: int, num_classes: int, inter_channels: int
    ) -> None:
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels),
            nn.ReLU(inplace=True),
        )
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.Sigmoid(),
        )
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input: dict[str, Tensor]) -> Tensor:
        low, high = input["low"], input["high"]
        high = resize(self.cbr(high) * self.scale(high), low.shape[-2:])
        result: Tensor = self.low_classifier(low) + self.high_classifier(high)
        return result


def _lraspp_mobilenetv3(backbone: MobileNetV3, num_classes: int) -> LRASPP:
    body, channels = cut_mobilenet(backbone, low=-4, high=-1)
    return LRASPP(body, channels["low"], channels["high"], num_classes)


LRASPP_MobileNet_V3_Large_Weights: Any = weights_enum(__name__, "LRASPP_MobileNet_V3_Large")


@register_model()
@accept_weights(
    weights=LRASPP_MobileNet_V3_Large_Weights,
    weights_backbone=MobileNet_V3_Large_Weights.IMAGENET1K_V1,
)
def lraspp_mobilenet_v3_large(
    *,
    weights: LRASPP_MobileNet_V3_Large_Weights | None = None,
    progress: bool = True,
    num_classes: int | None = None,
    weights_backbone: MobileNet_V3_Large_Weights | None = MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    **kwargs: Any,
) -> LRASPP:
    """LR-ASPP on MobileNet v3.

    Args:
        weights: a member of `LRASPP_MobileNet_V3_Large_Weights` or its name; random weights
            unless given.
        progress: whether a download shows its progress.
        num_classes: channels of the result, the background's included; 21 unless given.
        weights_backbone: trained weights of the backbone, a member of
            `MobileNet_V3_Large_Weights`; ``None`` for random ones.
        **kwargs: ignored, but for ``aux_loss``, which the model has not.
    """
    if kwargs.get("aux_loss"):
        raise NotImplementedError("lraspp_mobilenet_v3_large: this model has no auxiliary loss.")
    if weights is not None:
        n_trained = len(weights.meta["categories"])
        num_classes = _ovewrite_value_param("num_classes", num_classes, n_trained)
        weights_backbone = None
    backbone = mobilenet_v3_large(weights=weights_backbone, progress=progress, dilated=True)
    model = _lraspp_mobilenetv3(backbone, 21 if num_classes is None else num_classes)
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    return model
