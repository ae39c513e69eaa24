"""Features of many scales, made of each other."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from facula import nn
from facula._core import Tensor
from facula.nn import functional as F
from facula.vision.ops._utils import move_keys
from facula.vision.ops.misc import Conv2dNormActivation

__all__ = ["ExtraFPNBlock", "FeaturePyramidNetwork", "LastLevelMaxPool", "LastLevelP6P7"]


class ExtraFPNBlock(nn.Module):
    """A base of what adds levels to a :class:`FeaturePyramidNetwork`."""

    def forward(
        self, results: list[Tensor], x: list[Tensor], names: list[str]
    ) -> tuple[list[Tensor], list[str]]:
        """The levels and their names, with new ones at the end.

        Args:
            results: the levels of the pyramid, from fine to coarse.
            x: the features that they were made of.
            names: the names of the levels.
        """
        raise NotImplementedError(f"{type(self).__name__}: expected a method forward.")


class FeaturePyramidNetwork(nn.Module):
    """Features of one width on every scale, each with what the coarser ones see.

    Args:
        in_channels_list: channels of the given features, from fine to coarse.
        out_channels: channels of the result.
        extra_blocks: adds coarser levels.
        norm_layer: makes the normalisations, called with ``out_channels``; ``None`` for none.

    Shape:
        a dictionary of ``(N, C_i, H_i, W_i)``; result: a dictionary of
        ``(N, out_channels, H_i, W_i)`` with the same names.

    Example:
        >>> from facula.vision.ops import FeaturePyramidNetwork
        >>> fpn = FeaturePyramidNetwork([8, 16], 4)
        >>> y = fpn({"fine": facula.ones(1, 8, 6, 6), "coarse": facula.ones(1, 16, 3, 3)})
        >>> {name: tuple(level.shape) for name, level in y.items()}
        {'fine': (1, 4, 6, 6), 'coarse': (1, 4, 3, 3)}
    """

    _version = 2

    def __init__(
        self,
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.inner_blocks = nn.ModuleList()
        self.layer_blocks = nn.ModuleList()
        for in_channels in in_channels_list:
            if in_channels == 0:
                raise ValueError("FeaturePyramidNetwork: a level of 0 channels is not supported.")
            for blocks, channels, size in (
                (self.inner_blocks, in_channels, 1),
                (self.layer_blocks, out_channels, 3),
            ):
                blocks.append(
                    Conv2dNormActivation(
                        channels,
                        out_channels,
                        size,
                        padding=size // 2,
                        norm_layer=norm_layer,
                        activation_layer=None,
                    )
                )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_uniform_(module.weight, a=1)
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(
                f"FeaturePyramidNetwork: expected extra_blocks to be an ExtraFPNBlock, "
                f"got {type(extra_blocks).__name__}."
            )
        self.extra_blocks = extra_blocks

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *args: Any
    ) -> None:
        # In files of version 1 the levels are convolutions, not blocks of one.
        n_levels = len(self.inner_blocks)
        names = [f"{kind}_blocks.{i}" for kind in ("inner", "layer") for i in range(n_levels)]
        move_keys(state_dict, prefix, local_metadata, {name: f"{name}.0" for name in names})
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def forward(self, x: dict[str, Tensor]) -> dict[str, Tensor]:
        names, features = list(x), list(x.values())
        last = self.inner_blocks[len(features) - 1](features[-1])
        results = [self.layer_blocks[len(features) - 1](last)]
        for i in range(len(features) - 2, -1, -1):
            lateral = self.inner_blocks[i](features[i])
            last = lateral + F.interpolate(last, size=lateral.shape[-2:], mode="nearest")
            results.insert(0, self.layer_blocks[i](last))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, features, names)
        return OrderedDict(zip(names, results, strict=True))


class LastLevelMaxPool(ExtraFPNBlock):
    """Adds every second element of the coarsest level as the level ``"pool"``.

    Example:
        >>> from facula.vision.ops.feature_pyramid_network import LastLevelMaxPool
        >>> y, names = LastLevelMaxPool()([facula.ones(1, 1, 4, 4)], [], ["0"])
        >>> names, y[1].shape
        (['0', 'pool'], torch.Size([1, 1, 2, 2]))
    """

    def forward(
        self, results: list[Tensor], x: list[Tensor], names: list[str]
    ) -> tuple[list[Tensor], list[str]]:
        pooled = F.max_pool2d(results[-1], kernel_size=1, stride=2, padding=0)
        return [*results, pooled], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Adds two levels by convolutions of stride 2: ``"p6"`` and ``"p7"`` (RetinaNet).

    Args:
        in_channels: channels of the coarsest given features.
        out_channels: channels of the pyramid. Where ``in_channels`` is the same, the levels are
            made of the pyramid's last one, otherwise of the last given features.

    Example:
        >>> from facula.vision.ops.feature_pyramid_network import LastLevelP6P7
        >>> x = facula.ones(1, 2, 8, 8)
        >>> y, names = LastLevelP6P7(2, 2)([x], [x], ["0"])
        >>> names, y[2].shape
        (['0', 'p6', 'p7'], torch.Size([1, 2, 2, 2]))
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for module in (self.p6, self.p7):
            nn.init.kaiming_uniform_(module.weight, a=1)
            assert module.bias is not None
            nn.init.constant_(module.bias, 0)
        self.use_P5 = in_channels == out_channels

    def forward(
        self, results: list[Tensor], x: list[Tensor], names: list[str]
    ) -> tuple[list[Tensor], list[str]]:
        p6 = self.p6(results[-1] if self.use_P5 else x[-1])
        p7 = self.p7(F.relu(p6))
        return [*results, p6, p7], [*names, "p6", "p7"]
