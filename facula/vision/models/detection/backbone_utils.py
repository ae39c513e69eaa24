"""Classification networks as backbones of detectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import nn
from facula._core import Tensor
from facula._warnings import warn_user
from facula.vision.models import mobilenet, resnet
from facula.vision.models._utils import IntermediateLayerGetter
from facula.vision.ops.feature_pyramid_network import (
    ExtraFPNBlock,
    FeaturePyramidNetwork,
    LastLevelMaxPool,
)
from facula.vision.ops.misc import FrozenBatchNorm2d

__all__ = ["BackboneWithFPN", "mobilenet_backbone", "resnet_fpn_backbone"]

_Norm = Callable[..., nn.Module]
_OUT_CHANNELS = 256


class BackboneWithFPN(nn.Module):
    """Layers of a network and the pyramid that is made of their results.

    Args:
        backbone: the network.
        return_layers: the names of its children wanted, and their names in the result.
        in_channels_list: channels of the layers of ``return_layers``.
        out_channels: channels of the pyramid.
        extra_blocks: adds coarser levels; a :class:`LastLevelMaxPool` unless given.
        norm_layer: makes the normalisations of the pyramid; none unless given.

    Shape:
        input ``(N, 3, H, W)``; result: a dictionary of ``(N, out_channels, H_i, W_i)``.

    Example:
        >>> from facula.vision.models import resnet18
        >>> from facula.vision.models.detection.backbone_utils import BackboneWithFPN
        >>> backbone = BackboneWithFPN(resnet18(), {"layer3": "0", "layer4": "1"}, [256, 512], 8)
        >>> {k: tuple(v.shape) for k, v in backbone(facula.zeros(1, 3, 64, 64)).items()}
        {'0': (1, 8, 4, 4), '1': (1, 8, 2, 2), 'pool': (1, 8, 1, 1)}
    """

    def __init__(
        self,
        backbone: nn.Module,
        return_layers: dict[str, str],
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: _Norm | None = None,
    ) -> None:
        super().__init__()
        self.body = IntermediateLayerGetter(backbone, return_layers=return_layers)
        self.fpn = FeaturePyramidNetwork(
            in_channels_list, out_channels, extra_blocks or LastLevelMaxPool(), norm_layer
        )
        self.out_channels = out_channels

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        levels: dict[str, Tensor] = self.fpn(self.body(x))
        return levels


def resnet_fpn_backbone(
    *,
    backbone_name: str,
    weights: Any,
    norm_layer: _Norm = FrozenBatchNorm2d,
    trainable_layers: int = 3,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> BackboneWithFPN:
    """A ResNet with a pyramid of features.

    Args:
        backbone_name: such as ``"resnet50"``.
        weights: trained weights of the backbone, or ``None``.
        norm_layer: makes the normalisations; frozen ones, since batches of detectors are small.
        trainable_layers: how many of the backbone's 5 stages are trained, counted from the last.
        returned_layers: stages that the pyramid is made of, from 1 to 4; all unless given.
        extra_blocks: adds coarser levels to the pyramid.

    Example:
        >>> from facula.vision.models.detection.backbone_utils import resnet_fpn_backbone
        >>> backbone = resnet_fpn_backbone(backbone_name="resnet18", weights=None)
        >>> list(backbone(facula.zeros(1, 3, 64, 64)))
        ['0', '1', '2', '3', 'pool']
    """
    backbone = getattr(resnet, backbone_name)(weights=weights, norm_layer=norm_layer)
    return resnet_fpn_extractor(backbone, trainable_layers, returned_layers, extra_blocks)


def resnet_fpn_extractor(
    backbone: Any,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: _Norm | None = None,
) -> BackboneWithFPN:
    """A given ResNet with a pyramid of features; see :func:`resnet_fpn_backbone`."""
    check_trainable_layers(trainable_layers, 5)
    trained = ["layer4", "layer3", "layer2", "layer1", "conv1"][:trainable_layers]
    if trainable_layers == 5:
        trained.append("bn1")
    for name, parameter in backbone.named_parameters():
        if not name.startswith(tuple(trained)):
            parameter.requires_grad_(False)
    stages = [1, 2, 3, 4] if returned_layers is None else returned_layers
    if min(stages) <= 0 or max(stages) >= 5:
        raise ValueError(f"returned_layers: expected numbers from 1 to 4, got {stages}.")
    width = backbone.inplanes // 8
    return BackboneWithFPN(
        backbone,
        {f"layer{stage}": str(i) for i, stage in enumerate(stages)},
        [width * 2 ** (stage - 1) for stage in stages],
        _OUT_CHANNELS,
        extra_blocks,
        norm_layer,
    )


def check_trainable_layers(trainable_layers: int, most: int) -> None:
    if not 0 <= trainable_layers <= most:
        raise ValueError(
            f"trainable_layers: expected a number from 0 to {most}, got {trainable_layers}."
        )


def choose_trainable_layers(
    is_trained: bool, trainable_backbone_layers: int | None, most: int, default: int
) -> int:
    """How many stages of a backbone are trained; all of them where it has no trained weights."""
    if not is_trained:
        if trainable_backbone_layers is not None:
            warn_user(
                "trainable_backbone_layers has no effect without trained weights: all layers are "
                f"trained, trainable_backbone_layers={most}.",
            )
        return most
    chosen = default if trainable_backbone_layers is None else trainable_backbone_layers
    check_trainable_layers(chosen, most)
    return chosen


def freeze_stages(layers: nn.Sequential, starts: list[int], trainable_layers: int) -> None:
    """Freeze the layers before the last ``trainable_layers`` of the stages that start there."""
    check_trainable_layers(trainable_layers, len(starts))
    first = len(layers) if trainable_layers == 0 else starts[len(starts) - trainable_layers]
    for layer in layers[:first]:
        for parameter in layer.parameters():
            parameter.requires_grad_(False)


def mobilenet_stages(layers: nn.Sequential) -> list[int]:
    """Where sizes are halved, besides the first and the last layer."""
    halving = [i for i, layer in enumerate(layers) if getattr(layer, "_is_cn", False)]
    return [0, *halving, len(layers) - 1]


def mobilenet_backbone(
    *,
    backbone_name: str,
    weights: Any,
    fpn: bool,
    norm_layer: _Norm = FrozenBatchNorm2d,
    trainable_layers: int = 2,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> nn.Module:
    """A MobileNet, with a pyramid of features or with its last ones alone.

    Args:
        backbone_name: ``"mobilenet_v2"`` or ``"mobilenet_v3_large"``, ...
        weights: trained weights of the backbone, or ``None``.
        fpn: whether to make a pyramid.
        norm_layer: makes the normalisations; frozen ones, since batches of detectors are small.
        trainable_layers: how many of the backbone's stages are trained, counted from the last.
        returned_layers: stages that the pyramid is made of; the last two unless given.
        extra_blocks: adds coarser levels to the pyramid.

    Example:
        >>> from facula.vision.models.detection.backbone_utils import mobilenet_backbone
        >>> m = mobilenet_backbone(backbone_name="mobilenet_v3_small", weights=None, fpn=True)
        >>> list(m(facula.zeros(1, 3, 64, 64)))
        ['0', '1', 'pool']
    """
    backbone = getattr(mobilenet, backbone_name)(weights=weights, norm_layer=norm_layer)
    return mobilenet_extractor(backbone, fpn, trainable_layers, returned_layers, extra_blocks)


def mobilenet_extractor(
    backbone: Any,
    fpn: bool,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: _Norm | None = None,
) -> nn.Module:
    """The features of a given MobileNet, as of :func:`mobilenet_backbone`."""
    layers = backbone.features
    starts = mobilenet_stages(layers)
    freeze_stages(layers, starts, trainable_layers)
    if not fpn:
        last = nn.Conv2d(layers[-1].out_channels, _OUT_CHANNELS, 1)
        model: Any = nn.Sequential(layers, last)
        model.out_channels = _OUT_CHANNELS
        return model  # type: ignore[no-any-return]
    stages = [len(starts) - 2, len(starts) - 1] if returned_layers is None else returned_layers
    if min(stages) < 0 or max(stages) >= len(starts):
        raise ValueError(
            f"returned_layers: expected numbers from 0 to {len(starts) - 1}, got {stages}."
        )
    return BackboneWithFPN(
        layers,
        {str(starts[stage]): str(i) for i, stage in enumerate(stages)},
        [layers[starts[stage]].out_channels for stage in stages],
        _OUT_CHANNELS,
        extra_blocks,
        norm_layer,
    )
