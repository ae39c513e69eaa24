"""ConvNeXt: `A ConvNet for the 2020s <https://arxiv.org/abs/2201.03545>`_."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula.vision.models._api import builder, name_of, weights_enum
from facula.vision.ops.misc import Conv2dNormActivation, Permute
from facula.vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "ConvNeXt",
    "ConvNeXt_Base_Weights",
    "ConvNeXt_Large_Weights",
    "ConvNeXt_Small_Weights",
    "ConvNeXt_Tiny_Weights",
    "convnext_base",
    "convnext_large",
    "convnext_small",
    "convnext_tiny",
]

Layer = Callable[..., nn.Module]


class LayerNorm2d(nn.LayerNorm):
    """Layer normalisation over the channels of an image ``(N, C, H, W)``."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """A depthwise 7x7 convolution and two linear layers over the channels, beside their input.

    Args:
        dim: channels.
        layer_scale: first value of the factors that scale the channels.
        stochastic_depth_prob: the probability to leave the block out.
        norm_layer: makes the normalisations; ``None`` for ``nn.LayerNorm`` with ``eps=1e-6``.

    Shape:
        input ``(N, dim, H, W)``; result the same.
    """

    def __init__(
        self,
        dim: int,
        layer_scale: float,
        stochastic_depth_prob: float,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim),
            Permute([0, 2, 3, 1]),
            norm_layer(dim),
            nn.Linear(dim, 4 * dim),
            nn.GELU(),
            nn.Linear(4 * dim, dim),
            Permute([0, 3, 1, 2]),
        )
        self.layer_scale = nn.Parameter(facula.ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self.stochastic_depth(self.layer_scale * self.block(input)) + input
        return result


@dataclass
class CNBlockConfig:
    """A stage of ``num_layers`` blocks, and the channels after it (``None`` for the last one)."""

    input_channels: int
    out_channels: int | None
    num_layers: int


class ConvNeXt(nn.Module):
    """A stem that cuts the image into patches, stages of blocks, and a linear classifier.

    Args:
        block_setting: the stages.
        stochastic_depth_prob: the probability to leave the last block out; that of the others grows
            linearly up to it.
        layer_scale: first value of the factors that scale the channels of a block.
        num_classes: outputs of the classifier.
        block: makes the blocks; ``None`` for :class:`CNBlock`.
        norm_layer: makes the normalisations between the stages; ``None`` for a layer norm over the
            channels.

    Shape:
        input ``(N, 3, H, W)``; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models.convnext import CNBlockConfig, ConvNeXt
        >>> stages = [CNBlockConfig(8, 16, 1), CNBlockConfig(16, None, 1)]
        >>> ConvNeXt(stages, num_classes=5)(facula.ones(1, 3, 16, 16)).shape
        torch.Size([1, 5])
    """

    def __init__(
        self,
        block_setting: list[CNBlockConfig],
        stochastic_depth_prob: float = 0.0,
        layer_scale: float = 1e-6,
        num_classes: int = 1000,
        block: Layer | None = None,
        norm_layer: Layer | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if not block_setting:
            raise ValueError("ConvNeXt: block_setting has no stages.")
        if not isinstance(block_setting, Sequence) or not all(
            isinstance(stage, CNBlockConfig) for stage in block_setting
        ):
            raise TypeError(
                "ConvNeXt: expected block_setting to be a list of CNBlockConfig, "
                f"got {block_setting!r}."
            )
        block = block or CNBlock
        norm_layer = norm_layer or partial(LayerNorm2d, eps=1e-6)
        layers: list[nn.Module] = [
            Conv2dNormActivation(
                3,
                block_setting[0].input_channels,
                kernel_size=4,
                stride=4,
                padding=0,
                norm_layer=norm_layer,
                activation_layer=None,
                bias=True,
            )
        ]
        n_blocks, n_built = sum(stage.num_layers for stage in block_setting), 0
        for stage in block_setting:
            blocks: list[nn.Module] = []
            for _ in range(stage.num_layers):
                depth_prob = stochastic_depth_prob * n_built / (n_blocks - 1.0)
                blocks.append(block(stage.input_channels, layer_scale, depth_prob))
                n_built += 1
            layers.append(nn.Sequential(*blocks))
            if stage.out_channels is not None:
                down = nn.Conv2d(stage.input_channels, stage.out_channels, kernel_size=2, stride=2)
                layers.append(nn.Sequential(norm_layer(stage.input_channels), down))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        n_features = block_setting[-1].out_channels or block_setting[-1].input_channels
        self.classifier = nn.Sequential(
            norm_layer(n_features), nn.Flatten(1), nn.Linear(n_features, num_classes)
        )

        for m in self.modules():
            if isinstance(m, nn.Conv2d | nn.Linear):
                nn.init.trunc_normal_(m.weight, std=0.02)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.classifier(self.avgpool(self.features(x)))
        return result


ConvNeXt_Tiny_Weights: Any = weights_enum(__name__, "ConvNeXt_Tiny")
ConvNeXt_Small_Weights: Any = weights_enum(__name__, "ConvNeXt_Small")
ConvNeXt_Base_Weights: Any = weights_enum(__name__, "ConvNeXt_Base")
ConvNeXt_Large_Weights: Any = weights_enum(__name__, "ConvNeXt_Large")


def _convnext(
    weights: Any, width: int, n_blocks: int, stochastic_depth_prob: float
) -> Callable[..., ConvNeXt]:
    """Four stages; only the third one differs in its number of blocks."""
    stages = [
        CNBlockConfig(width, 2 * width, 3),
        CNBlockConfig(2 * width, 4 * width, 3),
        CNBlockConfig(4 * width, 8 * width, n_blocks),
        CNBlockConfig(8 * width, None, 3),
    ]
    title, depth_prob = name_of(weights).replace("_", " "), stochastic_depth_prob
    return builder(weights, title, ConvNeXt, stages, stochastic_depth_prob=depth_prob)


convnext_tiny = _convnext(ConvNeXt_Tiny_Weights, 96, 9, 0.1)
convnext_small = _convnext(ConvNeXt_Small_Weights, 96, 27, 0.4)
convnext_base = _convnext(ConvNeXt_Base_Weights, 128, 27, 0.5)
convnext_large = _convnext(ConvNeXt_Large_Weights, 192, 27, 0.5)
