"""MobileNet v2: depthwise convolutions between wide 1x1 ones (arXiv:1801.04381)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from facula import Tensor, nn
from facula.nn import functional as F
from facula.vision.models._api import builder, weights_enum
from facula.vision.models._utils import _make_divisible, init_fan_out
from facula.vision.ops.misc import Conv2dNormActivation

__all__ = ["MobileNetV2", "MobileNet_V2_Weights", "mobilenet_v2"]

# expansion, channels, repeats, stride
_SETTING = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class InvertedResidual(nn.Module):
    """Expand the channels, convolve each on its own, project; added to the input if it fits.

    Shape:
        input ``(N, inp, H, W)``; result ``(N, oup, H / stride, W / stride)``.
    """

    def __init__(
        self,
        inp: int,
        oup: int,
        stride: int,
        expand_ratio: int,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"InvertedResidual: stride should be 1 or 2, got {stride}")
        norm_layer = norm_layer or nn.BatchNorm2d
        width = round(inp * expand_ratio)
        conv: Callable[..., nn.Module] = partial(
            Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.ReLU6
        )
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(conv(inp, width, kernel_size=1))
        layers.append(conv(width, width, stride=stride, groups=width))
        layers += [nn.Conv2d(width, oup, 1, bias=False), norm_layer(oup)]
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        self.conv = nn.Sequential(*layers)
        self.out_channels = oup
        self._is_cn = stride > 1

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(x)
        return x + y if self.use_res_connect else y


class MobileNetV2(nn.Module):
    """MobileNet v2.

    Args:
        num_classes: number of outputs.
        width_mult: factor of all channels.
        inverted_residual_setting: expansion, channels, repeats and stride of each stage.
        round_nearest: the channels are multiples of this.
        block: makes a block; `InvertedResidual` unless given.
        norm_layer: makes the normalisations; `nn.BatchNorm2d` unless given.
        dropout: probability of dropping an input of the linear layer.

    Shape:
        input ``(N, 3, H, W)``; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models import MobileNetV2
        >>> MobileNetV2(num_classes=5, width_mult=0.25)(facula.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: Sequence[Sequence[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        block = block or InvertedResidual
        norm_layer = norm_layer or nn.BatchNorm2d
        setting = _SETTING if inverted_residual_setting is None else inverted_residual_setting
        if not setting or any(len(stage) != 4 for stage in setting):
            raise ValueError(
                "MobileNetV2: inverted_residual_setting should be a list of (expansion, channels, "
                f"repeats, stride), got {inverted_residual_setting}"
            )
        conv: Callable[..., nn.Module] = partial(
            Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.ReLU6
        )
        channels = _make_divisible(32 * width_mult, round_nearest)
        self.last_channel = _make_divisible(1280 * max(1.0, width_mult), round_nearest)
        features: list[nn.Module] = [conv(3, channels, stride=2)]
        for expansion, width, repeats, stride in setting:
            out = _make_divisible(width * width_mult, round_nearest)
            for i in range(repeats):
                step = stride if i == 0 else 1
                features.append(
                    block(channels, out, step, expand_ratio=expansion, norm_layer=norm_layer)
                )
                channels = out
        features.append(conv(channels, self.last_channel, kernel_size=1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes)
        )
        init_fan_out(self, linear_std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.features(x), (1, 1))
        y: Tensor = self.classifier(x.flatten(1))
        return y


MobileNet_V2_Weights: Any = weights_enum(__name__, "MobileNet_V2")
mobilenet_v2 = builder(MobileNet_V2_Weights, "MobileNet v2", MobileNetV2)
