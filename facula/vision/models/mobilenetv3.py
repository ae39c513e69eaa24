"""MobileNet v3: found by a search for speed on telephones (arXiv:1905.02244)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from facula import Tensor, nn
from facula.vision.models._api import builder, weights_enum
from facula.vision.models._utils import _make_divisible, init_fan_out
from facula.vision.ops.misc import Conv2dNormActivation, SqueezeExcitation

__all__ = [
    "MobileNetV3",
    "MobileNet_V3_Large_Weights",
    "MobileNet_V3_Small_Weights",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
]


_SqueezeExcitation = partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid)


class InvertedResidualConfig:
    """What one block of MobileNet v3 is like; ``activation`` is ``"RE"`` or ``"HS"``."""

    def __init__(
        self,
        input_channels: int,
        kernel: int,
        expanded_channels: int,
        out_channels: int,
        use_se: bool,
        activation: str,
        stride: int,
        dilation: int,
        width_mult: float,
    ) -> None:
        self.input_channels = self.adjust_channels(input_channels, width_mult)
        self.kernel = kernel
        self.expanded_channels = self.adjust_channels(expanded_channels, width_mult)
        self.out_channels = self.adjust_channels(out_channels, width_mult)
        self.use_se = use_se
        self.use_hs = activation == "HS"
        self.stride = stride
        self.dilation = dilation

    @staticmethod
    def adjust_channels(channels: int, width_mult: float) -> int:
        """The channels at this width, a multiple of 8."""
        return _make_divisible(channels * width_mult, 8)


class InvertedResidual(nn.Module):
    """Expand, convolve each channel on its own, weigh the channels, project; added to the input.

    Shape:
        input ``(N, cnf.input_channels, H, W)``; result ``(N, cnf.out_channels, H', W')``.
    """

    def __init__(
        self,
        cnf: InvertedResidualConfig,
        norm_layer: Callable[..., nn.Module],
        se_layer: Callable[..., nn.Module] = _SqueezeExcitation,
    ) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError(f"InvertedResidual: stride should be 1 or 2, got {cnf.stride}")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        width = cnf.expanded_channels
        conv: Callable[..., nn.Module] = partial(Conv2dNormActivation, norm_layer=norm_layer)
        activation = nn.Hardswish if cnf.use_hs else nn.ReLU
        layers: list[nn.Module] = []
        if width != cnf.input_channels:
            layers.append(
                conv(cnf.input_channels, width, kernel_size=1, activation_layer=activation)
            )
        layers.append(
            conv(
                width,
                width,
                kernel_size=cnf.kernel,
                stride=1 if cnf.dilation > 1 else cnf.stride,
                dilation=cnf.dilation,
                groups=width,
                activation_layer=activation,
            )
        )
        if cnf.use_se:
            layers.append(se_layer(width, _make_divisible(width // 4, 8)))
        layers.append(conv(width, cnf.out_channels, kernel_size=1, activation_layer=None))
        self.block = nn.Sequential(*layers)
        self.out_channels = cnf.out_channels
        self._is_cn = cnf.stride > 1

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self.block(input)
        return result + input if self.use_res_connect else result


class MobileNetV3(nn.Module):
    """MobileNet v3.

    Args:
        inverted_residual_setting: the blocks.
        last_channel: width of the linear layer before the last.
        num_classes: number of outputs.
        block: makes a block; `InvertedResidual` unless given.
        norm_layer: makes the normalisations; `nn.BatchNorm2d` unless given.
        dropout: probability of dropping an input of the last layer.

    Shape:
        input ``(N, 3, H, W)``; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3
        >>> block = InvertedResidualConfig(16, 3, 64, 24, True, "HS", 2, 1, width_mult=1.0)
        >>> MobileNetV3([block], last_channel=32, num_classes=5)(facula.zeros(2, 3, 8, 8)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[InvertedResidualConfig],
        last_channel: int,
        num_classes: int = 1000,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        setting = inverted_residual_setting
        if not setting:
            raise ValueError("MobileNetV3: inverted_residual_setting is empty")
        if not all(isinstance(cnf, InvertedResidualConfig) for cnf in setting):
            raise TypeError(
                "MobileNetV3: inverted_residual_setting should be a list of "
                f"InvertedResidualConfig, got {setting}"
            )
        block = block or InvertedResidual
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        conv: Callable[..., nn.Module] = partial(
            Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.Hardswish
        )
        channels = setting[-1].out_channels
        self.features = nn.Sequential(
            conv(3, setting[0].input_channels, stride=2),
            *(block(cnf, norm_layer) for cnf in setting),
            conv(channels, 6 * channels, kernel_size=1),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * channels, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        init_fan_out(self, linear_std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))
        y: Tensor = self.classifier(x.flatten(1))
        return y


# kernel, expanded channels, channels, squeeze-excitation, activation, stride; the last three
# blocks are those that can be thinned and dilated.
_LARGE = (
    (3, 16, 16, False, "RE", 1),
    (3, 64, 24, False, "RE", 2),
    (3, 72, 24, False, "RE", 1),
    (5, 72, 40, True, "RE", 2),
    (5, 120, 40, True, "RE", 1),
    (5, 120, 40, True, "RE", 1),
    (3, 240, 80, False, "HS", 2),
    (3, 200, 80, False, "HS", 1),
    (3, 184, 80, False, "HS", 1),
    (3, 184, 80, False, "HS", 1),
    (3, 480, 112, True, "HS", 1),
    (3, 672, 112, True, "HS", 1),
    (5, 672, 160, True, "HS", 2),
    (5, 960, 160, True, "HS", 1),
    (5, 960, 160, True, "HS", 1),
)
_SMALL = (
    (3, 16, 16, True, "RE", 2),
    (3, 72, 24, False, "RE", 2),
    (3, 88, 24, False, "RE", 1),
    (5, 96, 40, True, "HS", 2),
    (5, 240, 40, True, "HS", 1),
    (5, 240, 40, True, "HS", 1),
    (5, 120, 48, True, "HS", 1),
    (5, 144, 48, True, "HS", 1),
    (5, 288, 96, True, "HS", 2),
    (5, 576, 96, True, "HS", 1),
    (5, 576, 96, True, "HS", 1),
)


def _make_mobilenet_v3(
    blocks: Sequence[tuple[int, int, int, bool, str, int]],
    last_channel: int,
    width_mult: float = 1.0,
    reduced_tail: bool = False,
    dilated: bool = False,
    **kwargs: Any,
) -> MobileNetV3:
    setting = []
    channels = 16
    divider = 2 if reduced_tail else 1
    for i, (kernel, expanded, out, use_se, activation, stride) in enumerate(blocks):
        is_tail = i >= len(blocks) - 3
        if is_tail:
            out //= divider
        # The tail's first block expands what comes before the tail.
        if i >= len(blocks) - 2:
            expanded //= divider
        dilation = 2 if is_tail and dilated else 1
        setting.append(
            InvertedResidualConfig(
                channels, kernel, expanded, out, use_se, activation, stride, dilation, width_mult
            )
        )
        channels = out
    last_channel = InvertedResidualConfig.adjust_channels(last_channel // divider, width_mult)
    return MobileNetV3(setting, last_channel, **kwargs)


MobileNet_V3_Large_Weights: Any = weights_enum(__name__, "MobileNet_V3_Large")
MobileNet_V3_Small_Weights: Any = weights_enum(__name__, "MobileNet_V3_Small")

mobilenet_v3_large = builder(
    MobileNet_V3_Large_Weights, "MobileNet v3, the large one", _make_mobilenet_v3, _LARGE, 1280
)
mobilenet_v3_small = builder(
    MobileNet_V3_Small_Weights, "MobileNet v3, the small one", _make_mobilenet_v3, _SMALL, 1024
)
