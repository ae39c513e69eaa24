"""RegNet: `Designing Network Design Spaces <https://arxiv.org/abs/2003.13678>`_."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from facula import nn
from facula._core import Tensor
from facula.vision.models._api import builder, name_of, weights_enum
from facula.vision.models._utils import _make_divisible
from facula.vision.ops.misc import Conv2dNormActivation, SqueezeExcitation

__all__ = [
    "RegNet",
    "RegNet_X_1_6GF_Weights",
    "RegNet_X_3_2GF_Weights",
    "RegNet_X_8GF_Weights",
    "RegNet_X_16GF_Weights",
    "RegNet_X_32GF_Weights",
    "RegNet_X_400MF_Weights",
    "RegNet_X_800MF_Weights",
    "RegNet_Y_1_6GF_Weights",
    "RegNet_Y_3_2GF_Weights",
    "RegNet_Y_8GF_Weights",
    "RegNet_Y_16GF_Weights",
    "RegNet_Y_32GF_Weights",
    "RegNet_Y_128GF_Weights",
    "RegNet_Y_400MF_Weights",
    "RegNet_Y_800MF_Weights",
    "regnet_x_1_6gf",
    "regnet_x_3_2gf",
    "regnet_x_8gf",
    "regnet_x_16gf",
    "regnet_x_32gf",
    "regnet_x_400mf",
    "regnet_x_800mf",
    "regnet_y_1_6gf",
    "regnet_y_3_2gf",
    "regnet_y_8gf",
    "regnet_y_16gf",
    "regnet_y_32gf",
    "regnet_y_128gf",
    "regnet_y_400mf",
    "regnet_y_800mf",
]

Layer = Callable[..., nn.Module]


class SimpleStemIN(Conv2dNormActivation):
    """The first layer: a 3x3 convolution that halves the image."""

    def __init__(
        self, width_in: int, width_out: int, norm_layer: Layer, activation_layer: Layer
    ) -> None:
        super().__init__(
            width_in,
            width_out,
            kernel_size=3,
            stride=2,
            norm_layer=norm_layer,
            activation_layer=activation_layer,
        )


class BottleneckTransform(nn.Sequential):
    """Convolutions of 1x1, 3x3 in groups, and 1x1, with a squeeze-excitation after the second."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        group_width: int,
        bottleneck_multiplier: float,
        se_ratio: float | None,
    ) -> None:
        width = round(width_out * bottleneck_multiplier)
        conv = partial(
            Conv2dNormActivation, norm_layer=norm_layer, activation_layer=activation_layer
        )
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        layers["a"] = conv(width_in, width, kernel_size=1)
        layers["b"] = conv(width, width, stride=stride, groups=width // group_width)
        if se_ratio:
            layers["se"] = SqueezeExcitation(width, round(se_ratio * width_in), activation_layer)
        layers["c"] = conv(width, width_out, kernel_size=1, activation_layer=None)
        super().__init__(layers)


class ResBottleneckBlock(nn.Module):
    """A :class:`BottleneckTransform` beside its input, projected where the shapes differ."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        group_width: int = 1,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
    ) -> None:
        super().__init__()
        self.proj = (
            Conv2dNormActivation(
                width_in,
                width_out,
                kernel_size=1,
                stride=stride,
                norm_layer=norm_layer,
                activation_layer=None,
            )
            if width_in != width_out or stride != 1
            else None
        )
        self.f = BottleneckTransform(
            width_in,
            width_out,
            stride,
            norm_layer,
            activation_layer,
            group_width,
            bottleneck_multiplier,
            se_ratio,
        )
        self.activation = activation_layer(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        skip = x if self.proj is None else self.proj(x)
        result: Tensor = self.activation(skip + self.f(x))
        return result


class AnyStage(nn.Sequential):
    """Blocks of one width; the first one of them has the stride."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        depth: int,
        block_constructor: Layer,
        norm_layer: Layer,
        activation_layer: Layer,
        group_width: int,
        bottleneck_multiplier: float,
        se_ratio: float | None = None,
        stage_index: int = 0,
    ) -> None:
        super().__init__()
        for i in range(depth):
            block = block_constructor(
                width_out if i else width_in,
                width_out,
                1 if i else stride,
                norm_layer,
                activation_layer,
                group_width,
                bottleneck_multiplier,
                se_ratio,
            )
            self.add_module(f"block{stage_index}-{i}", block)


class BlockParams:
    """What :class:`RegNet` has in its stages: one number per stage in each of the lists."""

    def __init__(
        self,
        depths: list[int],
        widths: list[int],
        group_widths: list[int],
        bottleneck_multipliers: list[float],
        strides: list[int],
        se_ratio: float | None = None,
    ) -> None:
        self.depths = depths
        self.widths = widths
        self.group_widths = group_widths
        self.bottleneck_multipliers = bottleneck_multipliers
        self.strides = strides
        self.se_ratio = se_ratio

    @classmethod
    def from_init_params(
        cls,
        depth: int,
        w_0: int,
        w_a: float,
        w_m: float,
        group_width: int,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
        **kwargs: Any,
    ) -> BlockParams:
        """The stages from the few numbers of the paper.

        Widths grow linearly from ``w_0`` by ``w_a`` a block, are rounded to the nearest
        ``w_0 * w_m ** k`` and to a multiple of 8; blocks of the same width make a stage.
        """
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8:
            raise ValueError(
                "BlockParams: expected w_a >= 0, w_0 > 0 that is a multiple of 8 and w_m > 1, "
                f"got w_a={w_a}, w_0={w_0}, w_m={w_m}."
            )
        powers = [round(math.log((w_0 + w_a * i) / w_0) / math.log(w_m)) for i in range(depth)]
        stages = Counter(8 * round(w_0 * w_m**power / 8) for power in powers)  # in order of width
        n_stages = len(stages)
        widths, group_widths = [], []
        for width in stages:
            inner = int(width * bottleneck_multiplier)
            # A group is no wider than the bottleneck, and the bottleneck is a multiple of it.
            group_widths.append(min(group_width, inner))
            inner = _make_divisible(inner, group_widths[-1])
            widths.append(int(inner / bottleneck_multiplier))
        return cls(
            depths=list(stages.values()),
            widths=widths,
            group_widths=group_widths,
            bottleneck_multipliers=[bottleneck_multiplier] * n_stages,
            strides=[2] * n_stages,
            se_ratio=se_ratio,
        )

    def _get_expanded_params(self) -> Iterator[tuple[int, int, int, int, float]]:
        return zip(
            self.widths,
            self.strides,
            self.depths,
            self.group_widths,
            self.bottleneck_multipliers,
            strict=True,
        )


class RegNet(nn.Module):
    """A stem, stages of bottleneck blocks, and a linear classifier.

    Args:
        block_params: depths, widths and groups of the stages.
        num_classes: outputs of the classifier.
        stem_width: channels of the first layer.
        stem_type: the class of the first layer; ``None`` for :class:`SimpleStemIN`.
        block_type: the class of the blocks; ``None`` for :class:`ResBottleneckBlock`.
        norm_layer: makes the normalisations; ``None`` for ``nn.BatchNorm2d``.
        activation: makes the activations; ``None`` for ``nn.ReLU``.

    Shape:
        input ``(N, 3, H, W)``; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models.regnet import BlockParams, RegNet
        >>> sizes = BlockParams.from_init_params(depth=2, w_0=8, w_a=8.0, w_m=2.0, group_width=4)
        >>> sizes.widths
        [8, 16]
        >>> RegNet(sizes, num_classes=5).eval()(facula.ones(1, 3, 16, 16)).shape
        torch.Size([1, 5])
    """

    def __init__(
        self,
        block_params: BlockParams,
        num_classes: int = 1000,
        stem_width: int = 32,
        stem_type: Layer | None = None,
        block_type: Layer | None = None,
        norm_layer: Layer | None = None,
        activation: Layer | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        activation = activation or nn.ReLU
        self.stem = (stem_type or SimpleStemIN)(3, stem_width, norm_layer, activation)
        width = stem_width
        stages: OrderedDict[str, nn.Module] = OrderedDict()
        for i, (width_out, stride, depth, group_width, multiplier) in enumerate(
            block_params._get_expanded_params(), start=1
        ):
            stages[f"block{i}"] = AnyStage(
                width,
                width_out,
                stride,
                depth,
                block_type or ResBottleneckBlock,
                norm_layer,
                activation,
                group_width,
                multiplier,
                block_params.se_ratio,
                stage_index=i,
            )
            width = width_out
        self.trunk_output = nn.Sequential(stages)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(width, num_classes)

        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                # Groups are not counted here, unlike in kaiming_normal_.
                fan_out = m.kernel_size[0] * m.kernel_size[1] * m.out_channels
                nn.init.normal_(m.weight, std=math.sqrt(2.0 / fan_out))
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=0.01)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.trunk_output(self.stem(x)))
        result: Tensor = self.fc(x.flatten(1))
        return result


RegNet_Y_400MF_Weights: Any = weights_enum(__name__, "RegNet_Y_400MF")
RegNet_Y_800MF_Weights: Any = weights_enum(__name__, "RegNet_Y_800MF")
RegNet_Y_1_6GF_Weights: Any = weights_enum(__name__, "RegNet_Y_1_6GF")
RegNet_Y_3_2GF_Weights: Any = weights_enum(__name__, "RegNet_Y_3_2GF")
RegNet_Y_8GF_Weights: Any = weights_enum(__name__, "RegNet_Y_8GF")
RegNet_Y_16GF_Weights: Any = weights_enum(__name__, "RegNet_Y_16GF")
RegNet_Y_32GF_Weights: Any = weights_enum(__name__, "RegNet_Y_32GF")
RegNet_Y_128GF_Weights: Any = weights_enum(__name__, "RegNet_Y_128GF")
RegNet_X_400MF_Weights: Any = weights_enum(__name__, "RegNet_X_400MF")
RegNet_X_800MF_Weights: Any = weights_enum(__name__, "RegNet_X_800MF")
RegNet_X_1_6GF_Weights: Any = weights_enum(__name__, "RegNet_X_1_6GF")
RegNet_X_3_2GF_Weights: Any = weights_enum(__name__, "RegNet_X_3_2GF")
RegNet_X_8GF_Weights: Any = weights_enum(__name__, "RegNet_X_8GF")
RegNet_X_16GF_Weights: Any = weights_enum(__name__, "RegNet_X_16GF")
RegNet_X_32GF_Weights: Any = weights_enum(__name__, "RegNet_X_32GF")


def _regnet(
    weights: Any, depth: int, w_0: int, w_a: float, w_m: float, group_width: int
) -> Callable[..., RegNet]:
    name = name_of(weights)
    se_ratio = 0.25 if name.startswith("RegNet_Y") else None
    stages = BlockParams.from_init_params(depth, w_0, w_a, w_m, group_width, se_ratio=se_ratio)
    return builder(weights, name.replace("_", " ", 1), RegNet, stages)


regnet_y_400mf = _regnet(RegNet_Y_400MF_Weights, 16, 48, 27.89, 2.09, 8)
regnet_y_800mf = _regnet(RegNet_Y_800MF_Weights, 14, 56, 38.84, 2.4, 16)
regnet_y_1_6gf = _regnet(RegNet_Y_1_6GF_Weights, 27, 48, 20.71, 2.65, 24)
regnet_y_3_2gf = _regnet(RegNet_Y_3_2GF_Weights, 21, 80, 42.63, 2.66, 24)
regnet_y_8gf = _regnet(RegNet_Y_8GF_Weights, 17, 192, 76.82, 2.19, 56)
regnet_y_16gf = _regnet(RegNet_Y_16GF_Weights, 18, 200, 106.23, 2.48, 112)
regnet_y_32gf = _regnet(RegNet_Y_32GF_Weights, 20, 232, 115.89, 2.53, 232)
regnet_y_128gf = _regnet(RegNet_Y_128GF_Weights, 27, 456, 160.83, 2.52, 264)
regnet_x_400mf = _regnet(RegNet_X_400MF_Weights, 22, 24, 24.48, 2.54, 16)
regnet_x_800mf = _regnet(RegNet_X_800MF_Weights, 16, 56, 35.73, 2.28, 16)
regnet_x_1_6gf = _regnet(RegNet_X_1_6GF_Weights, 18, 80, 34.01, 2.25, 24)
regnet_x_3_2gf = _regnet(RegNet_X_3_2GF_Weights, 25, 88, 26.31, 2.25, 48)
regnet_x_8gf = _regnet(RegNet_X_8GF_Weights, 23, 80, 49.56, 2.88, 120)
regnet_x_16gf = _regnet(RegNet_X_16GF_Weights, 22, 216, 55.59, 2.1, 128)
regnet_x_32gf = _regnet(RegNet_X_32GF_Weights, 23, 320, 69.86, 2.0, 168)
