"""EfficientNet, versions `1 <https://arxiv.org/abs/1905.11946>`_ and
`2 <https://arxiv.org/abs/2104.00298>`_.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

from facula import nn
from facula._core import Tensor
from facula.vision.models._api import builder, name_of, weights_enum
from facula.vision.models._utils import _make_divisible
from facula.vision.ops.misc import Conv2dNormActivation, SqueezeExcitation
from facula.vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "EfficientNet",
    "EfficientNet_B0_Weights",
    "EfficientNet_B1_Weights",
    "EfficientNet_B2_Weights",
    "EfficientNet_B3_Weights",
    "EfficientNet_B4_Weights",
    "EfficientNet_B5_Weights",
    "EfficientNet_B6_Weights",
    "EfficientNet_B7_Weights",
    "EfficientNet_V2_L_Weights",
    "EfficientNet_V2_M_Weights",
    "EfficientNet_V2_S_Weights",
    "efficientnet_b0",
    "efficientnet_b1",
    "efficientnet_b2",
    "efficientnet_b3",
    "efficientnet_b4",
    "efficientnet_b5",
    "efficientnet_b6",
    "efficientnet_b7",
    "efficientnet_v2_l",
    "efficientnet_v2_m",
    "efficientnet_v2_s",
]

Layer = Callable[..., nn.Module]


@dataclass
class _MBConvConfig:
    """A stage: ``num_layers`` blocks, the first one with the stride and the change of channels."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    block: Layer

    @staticmethod
    def adjust_channels(channels: int, width_mult: float, min_value: int | None = None) -> int:
        return _make_divisible(channels * width_mult, 8, min_value)

    @property
    def _expanded_channels(self) -> int:
        return self.adjust_channels(self.input_channels, self.expand_ratio)


class MBConvConfig(_MBConvConfig):
    """A stage of :class:`MBConv` blocks, wider and deeper by the two last factors."""

    def __init__(
        self,
        expand_ratio: float,
        kernel: int,
        stride: int,
        input_channels: int,
        out_channels: int,
        num_layers: int,
        width_mult: float = 1.0,
        depth_mult: float = 1.0,
        block: Layer | None = None,
    ) -> None:
        super().__init__(
            expand_ratio,
            kernel,
            stride,
            self.adjust_channels(input_channels, width_mult),
            self.adjust_channels(out_channels, width_mult),
            self.adjust_depth(num_layers, depth_mult),
            block or MBConv,
        )

    @staticmethod
    def adjust_depth(num_layers: int, depth_mult: float) -> int:
        return math.ceil(num_layers * depth_mult)


class FusedMBConvConfig(_MBConvConfig):
    """A stage of :class:`FusedMBConv` blocks."""

    def __init__(
        self,
        expand_ratio: float,
        kernel: int,
        stride: int,
        input_channels: int,
        out_channels: int,
        num_layers: int,
        block: Layer | None = None,
    ) -> None:
        super().__init__(
            expand_ratio,
            kernel,
            stride,
            input_channels,
            out_channels,
            num_layers,
            block or FusedMBConv,
        )


class _Block(nn.Module):
    """``block``, with the input added where the shapes allow it."""

    def __init__(
        self, cnf: _MBConvConfig, layers: list[nn.Module], stochastic_depth_prob: float
    ) -> None:
        super().__init__()
        if cnf.stride not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: expected a stride of 1 or 2, got {cnf.stride}."
            )
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = cnf.out_channels

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self.block(input)
        return self.stochastic_depth(result) + input if self.use_res_connect else result


def _conv(norm_layer: Layer) -> Callable[..., Conv2dNormActivation]:
    return partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)


class MBConv(_Block):
    """Expansion, depthwise convolution, squeeze-excitation and projection."""

    def __init__(
        self,
        cnf: MBConvConfig,
        stochastic_depth_prob: float,
        norm_layer: Layer,
        se_layer: Layer = SqueezeExcitation,
    ) -> None:
        conv = _conv(norm_layer)
        width = cnf._expanded_channels
        layers: list[nn.Module] = []
        if width != cnf.input_channels:
            layers.append(conv(cnf.input_channels, width, kernel_size=1))
        layers.append(conv(width, width, cnf.kernel, cnf.stride, groups=width))
        n_squeezed = max(1, cnf.input_channels // 4)
        layers.append(se_layer(width, n_squeezed, activation=partial(nn.SiLU, inplace=True)))
        layers.append(conv(width, cnf.out_channels, kernel_size=1, activation_layer=None))
        super().__init__(cnf, layers, stochastic_depth_prob)


class FusedMBConv(_Block):
    """A convolution that expands the channels, and a projection; only the first if none expand."""

    def __init__(
        self, cnf: FusedMBConvConfig, stochastic_depth_prob: float, norm_layer: Layer
    ) -> None:
        conv = _conv(norm_layer)
        width = cnf._expanded_channels
        if width != cnf.input_channels:
            layers: list[nn.Module] = [
                conv(cnf.input_channels, width, cnf.kernel, cnf.stride),
                conv(width, cnf.out_channels, kernel_size=1, activation_layer=None),
            ]
        else:
            layers = [conv(cnf.input_channels, cnf.out_channels, cnf.kernel, cnf.stride)]
        super().__init__(cnf, layers, stochastic_depth_prob)


class EfficientNet(nn.Module):
    """A stem, stages of inverted residual blocks, a last convolution, and a linear classifier.

    Args:
        inverted_residual_setting: the stages.
        dropout: the probability of dropout before the classifier.
        stochastic_depth_prob: the probability to leave the last block out; that of the others grows
            linearly up to it.
        num_classes: outputs of the classifier.
        norm_layer: makes the normalisations; ``None`` for ``nn.BatchNorm2d``.
        last_channel: channels of the last convolution; ``None`` for 4 times those before it.

    Shape:
        input ``(N, 3, H, W)``; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models.efficientnet import EfficientNet, MBConvConfig
        >>> stages = [MBConvConfig(1, 3, 1, 8, 8, 1), MBConvConfig(4, 3, 2, 8, 16, 2)]
        >>> EfficientNet(stages, dropout=0.2, num_classes=5).eval()(facula.ones(1, 3, 16, 16)).shape
        torch.Size([1, 5])
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[MBConvConfig | FusedMBConvConfig],
        dropout: float,
        stochastic_depth_prob: float = 0.2,
        num_classes: int = 1000,
        norm_layer: Layer | None = None,
        last_channel: int | None = None,
    ) -> None:
        super().__init__()
        stages = inverted_residual_setting
        if not stages:
            raise ValueError("EfficientNet: inverted_residual_setting has no stages.")
        if not isinstance(stages, Sequence) or not all(
            isinstance(stage, _MBConvConfig) for stage in stages
        ):
            raise TypeError(
                "EfficientNet: expected inverted_residual_setting to be a list of MBConvConfig "
                f"and FusedMBConvConfig, got {stages!r}."
            )
        norm_layer = norm_layer or nn.BatchNorm2d
        conv = _conv(norm_layer)
        layers: list[nn.Module] = [conv(3, stages[0].input_channels, stride=2)]
        n_blocks, n_built = sum(stage.num_layers for stage in stages), 0
        for stage in stages:
            blocks: list[nn.Module] = []
            for i in range(stage.num_layers):
                cnf = copy(stage)
                if i:
                    cnf.stride, cnf.input_channels = 1, stage.out_channels
                depth_prob = stochastic_depth_prob * float(n_built) / n_blocks
                blocks.append(stage.block(cnf, depth_prob, norm_layer))
                n_built += 1
            layers.append(nn.Sequential(*blocks))
        n_last = last_channel if last_channel is not None else 4 * stages[-1].out_channels
        layers.append(conv(stages[-1].out_channels, n_last, kernel_size=1))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout, inplace=True), nn.Linear(n_last, num_classes)
        )

        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out")
            elif isinstance(m, nn.Linear):
                bound = 1.0 / math.sqrt(m.out_features)
                nn.init.uniform_(m.weight, -bound, bound)
            else:
                continue
            if m.bias is not None:
                nn.init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))
        result: Tensor = self.classifier(x.flatten(1))
        return result


EfficientNet_B0_Weights: Any = weights_enum(__name__, "EfficientNet_B0")
EfficientNet_B1_Weights: Any = weights_enum(__name__, "EfficientNet_B1")
EfficientNet_B2_Weights: Any = weights_enum(__name__, "EfficientNet_B2")
EfficientNet_B3_Weights: Any = weights_enum(__name__, "EfficientNet_B3")
EfficientNet_B4_Weights: Any = weights_enum(__name__, "EfficientNet_B4")
EfficientNet_B5_Weights: Any = weights_enum(__name__, "EfficientNet_B5")
EfficientNet_B6_Weights: Any = weights_enum(__name__, "EfficientNet_B6")
EfficientNet_B7_Weights: Any = weights_enum(__name__, "EfficientNet_B7")
EfficientNet_V2_S_Weights: Any = weights_enum(__name__, "EfficientNet_V2_S")
EfficientNet_V2_M_Weights: Any = weights_enum(__name__, "EfficientNet_V2_M")
EfficientNet_V2_L_Weights: Any = weights_enum(__name__, "EfficientNet_V2_L")

# expand_ratio, kernel, stride, input_channels, out_channels and num_layers of each stage
_Stage = tuple[int, int, int, int, int, int]
_STAGES_V1: list[_Stage] = [
    (1, 3, 1, 32, 16, 1),
    (6, 3, 2, 16, 24, 2),
    (6, 5, 2, 24, 40, 2),
    (6, 3, 2, 40, 80, 3),
    (6, 5, 1, 80, 112, 3),
    (6, 5, 2, 112, 192, 4),
    (6, 3, 1, 192, 320, 1),
]


def _efficientnet(
    weights: Any, width_mult: float, depth_mult: float, dropout: float, **kwargs: Any
) -> Callable[..., EfficientNet]:
    stages = [MBConvConfig(*stage, width_mult, depth_mult) for stage in _STAGES_V1]
    title = name_of(weights).replace("_", " ")
    return builder(weights, title, EfficientNet, stages, dropout, **kwargs)


_norm_b5 = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
efficientnet_b0 = _efficientnet(EfficientNet_B0_Weights, 1.0, 1.0, 0.2)
efficientnet_b1 = _efficientnet(EfficientNet_B1_Weights, 1.0, 1.1, 0.2)
efficientnet_b2 = _efficientnet(EfficientNet_B2_Weights, 1.1, 1.2, 0.3)
efficientnet_b3 = _efficientnet(EfficientNet_B3_Weights, 1.2, 1.4, 0.3)
efficientnet_b4 = _efficientnet(EfficientNet_B4_Weights, 1.4, 1.8, 0.4)
efficientnet_b5 = _efficientnet(EfficientNet_B5_Weights, 1.6, 2.2, 0.4, norm_layer=_norm_b5)
efficientnet_b6 = _efficientnet(EfficientNet_B6_Weights, 1.8, 2.6, 0.5, norm_layer=_norm_b5)
efficientnet_b7 = _efficientnet(EfficientNet_B7_Weights, 2.0, 3.1, 0.5, norm_layer=_norm_b5)


def _efficientnet_v2(
    weights: Any, dropout: float, fused: list[_Stage], stages: list[_Stage]
) -> Callable[..., EfficientNet]:
    return builder(
        weights,
        f"EfficientNetV2-{name_of(weights)[-1]}",
        EfficientNet,
        [*(FusedMBConvConfig(*stage) for stage in fused), *(MBConvConfig(*s) for s in stages)],
        dropout,
        norm_layer=partial(nn.BatchNorm2d, eps=1e-03),
        last_channel=1280,
    )


efficientnet_v2_s = _efficientnet_v2(
    EfficientNet_V2_S_Weights,
    0.2,
    fused=[(1, 3, 1, 24, 24, 2), (4, 3, 2, 24, 48, 4), (4, 3, 2, 48, 64, 4)],
    stages=[(4, 3, 2, 64, 128, 6), (6, 3, 1, 128, 160, 9), (6, 3, 2, 160, 256, 15)],
)
efficientnet_v2_m = _efficientnet_v2(
    EfficientNet_V2_M_Weights,
    0.3,
    fused=[(1, 3, 1, 24, 24, 3), (4, 3, 2, 24, 48, 5), (4, 3, 2, 48, 80, 5)],
    stages=[
        (4, 3, 2, 80, 160, 7),
        (6, 3, 1, 160, 176, 14),
        (6, 3, 2, 176, 304, 18),
        (6, 3, 1, 304, 512, 5),
    ],
)
efficientnet_v2_l = _efficientnet_v2(
    EfficientNet_V2_L_Weights,
    0.4,
    fused=[(1, 3, 1, 32, 32, 4), (4, 3, 2, 32, 64, 7), (4, 3, 2, 64, 96, 7)],
    stages=[
        (4, 3, 2, 96, 192, 10),
        (6, 3, 1, 192, 224, 19),
        (6, 3, 2, 224, 384, 25),
        (6, 3, 1, 384, 640, 7),
    ],
)
