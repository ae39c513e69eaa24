"""Video Swin transformer: `arXiv:2106.13230 <https://arxiv.org/abs/2106.13230>`_."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from facula import nn
from facula._core import Tensor
from facula._one_step import one_step
from facula.nn import functional as F
from facula.vision.models._api import builder, name_of, weights_enum
from facula.vision.models.swin_transformer import (
    _B,
    _S,
    _T,
    PatchMerging,
    ShiftedWindowAttention,
    SwinTransformerBlock,
    _init_linear,
    _relative_position_index,
    _stages,
    shifted_window_attention,
)
from facula.vision.models.swin_transformer import (
    _get_relative_position_bias as relative_position_bias,
)

__all__ = [
    "Swin3D_B_Weights",
    "Swin3D_S_Weights",
    "Swin3D_T_Weights",
    "SwinTransformer3d",
    "swin3d_b",
    "swin3d_s",
    "swin3d_t",
]

Layer = Callable[..., nn.Module]


@one_step
def _get_window_and_shift_size(
    shift_size: list[int], size_dhw: list[int], window_size: list[int]
) -> tuple[list[int], list[int]]:
    """Windows no longer than the video, and no shift where one window covers all of it."""
    window = [min(size, w) for size, w in zip(size_dhw, window_size, strict=True)]
    shift = [
        0 if size <= w else s for size, w, s in zip(size_dhw, window_size, shift_size, strict=True)
    ]
    return window, shift


@one_step
def _get_relative_position_bias(
    relative_position_bias_table: Tensor, relative_position_index: Tensor, window_size: list[int]
) -> Tensor:
    """What is added to the scores of the heads, ``(1, num_heads, L, L)``."""
    n = math.prod(window_size)
    index = relative_position_index[:n, :n].flatten()
    return relative_position_bias(relative_position_bias_table, index, window_size)


@one_step
def _compute_pad_size_3d(
    size_dhw: tuple[int, int, int], patch_size: tuple[int, int, int]
) -> list[int]:
    """What is missing to whole patches."""
    return [-size % patch for size, patch in zip(size_dhw, patch_size, strict=True)]


@one_step
def shifted_window_attention_3d(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """:func:`shifted_window_attention` of a video, by a name of its own in graphs."""
    return shifted_window_attention(input, *args, **kwargs)


class ShiftedWindowAttention3d(ShiftedWindowAttention):
    """Self-attention within windows of a video; windows longer than it are cut to its size.

    Args:
        dim: channels.
        window_size: duration, height and width of a window.
        shift_size: how far the windows are shifted.
        num_heads: heads of the attention.
        qkv_bias: whether the first linear layer has a bias.
        proj_bias: whether the last one has.
        attention_dropout: the probability of dropout of the attention's weights.
        dropout: the probability of dropout of the result.

    Shape:
        input ``(N, T, H, W, dim)``; result the same.
    """

    _n_dims = 3

    def define_relative_position_index(self) -> None:
        self.register_buffer("relative_position_index", _relative_position_index(self.window_size))

    def get_relative_position_bias(self, window_size: list[int] | None = None) -> Tensor:
        window_size = self.window_size if window_size is None else window_size
        return _get_relative_position_bias(
            self.relative_position_bias_table, self.relative_position_index, window_size
        )

    def forward(self, x: Tensor) -> Tensor:
        _, duration, height, width, _ = x.shape
        window, shift = _get_window_and_shift_size(
            self.shift_size, [duration, height, width], self.window_size
        )
        bias = self.get_relative_position_bias(window)
        return shifted_window_attention_3d(
            x,
            self.qkv.weight,
            self.proj.weight,
            bias,
            window,
            self.num_heads,
            shift,
            self.attention_dropout,
            self.dropout,
            self.qkv.bias,
            self.proj.bias,
            None,
            self.training,
        )


class PatchEmbed3d(nn.Module):
    """A vector for each patch of a video.

    Args:
        patch_size: duration, height and width of a patch.
        in_channels: channels of the video.
        embed_dim: size of the vectors.
        norm_layer: makes the normalisation, called with ``embed_dim``; ``None`` for none.

    Shape:
        input ``(N, in_channels, T, H, W)``; result ``(N, T', H', W', embed_dim)`` for patches.
    """

    def __init__(
        self,
        patch_size: list[int],
        in_channels: int = 3,
        embed_dim: int = 96,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        self.tuple_patch_size = (patch_size[0], patch_size[1], patch_size[2])
        size = self.tuple_patch_size
        self.proj = nn.Conv3d(in_channels, embed_dim, kernel_size=size, stride=size)
        self.norm = nn.Identity() if norm_layer is None else norm_layer(embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        _, _, duration, height, width = x.size()
        pad = _compute_pad_size_3d((duration, height, width), self.tuple_patch_size)
        x = self.proj(F.pad(x, (0, pad[2], 0, pad[1], 0, pad[0])))
        result: Tensor = self.norm(x.permute(0, 2, 3, 4, 1))
        return result


class SwinTransformer3d(nn.Module):
    """Patches of a video through stages of window attention, which merge patches in between.

    Args:
        patch_size: duration, height and width of a patch.
        embed_dim: size of a patch's vector; it doubles from stage to stage.
        depths: blocks of each stage.
        num_heads: heads of the attention in each stage.
        window_size: duration, height and width of a window of patches.
        mlp_ratio: size of the hidden layers over that of the vectors.
        dropout: the probability of dropout.
        attention_dropout: the probability of dropout of the attention's weights.
        stochastic_depth_prob: the probability to leave the last block out; that of the others grows
            linearly up to it.
        num_classes: outputs of the classifier.
        norm_layer: makes the normalisations; ``None`` for ``nn.LayerNorm``.
        block: makes the blocks; ``None`` for blocks of :class:`ShiftedWindowAttention3d`.
        downsample_layer: makes what merges patches between the stages; ``None`` for nothing.
        patch_embed: ``None`` for :class:`PatchEmbed3d`.

    Shape:
        input ``(N, 3, T, H, W)``; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models.video import SwinTransformer3d
        >>> model = SwinTransformer3d([2, 4, 4], 8, [2, 2], [1, 2], [2, 2, 2], num_classes=5)
        >>> model.eval()(facula.ones(1, 3, 4, 32, 32)).shape
        torch.Size([1, 5])
    """

    def __init__(
        self,
        patch_size: list[int],
        embed_dim: int,
        depths: list[int],
        num_heads: list[int],
        window_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.1,
        num_classes: int = 400,
        norm_layer: Layer | None = None,
        block: Layer | None = None,
        downsample_layer: Layer | None = PatchMerging,
        patch_embed: Layer | None = None,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        block = block or partial(SwinTransformerBlock, attn_layer=ShiftedWindowAttention3d)
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-5)
        self.patch_embed = (patch_embed or PatchEmbed3d)(
            patch_size=patch_size, embed_dim=embed_dim, norm_layer=norm_layer
        )
        self.pos_drop = nn.Dropout(p=dropout)
        stages = _stages(
            embed_dim,
            depths,
            num_heads,
            window_size,
            stochastic_depth_prob,
            partial(
                block,
                mlp_ratio=mlp_ratio,
                dropout=dropout,
                attention_dropout=attention_dropout,
                norm_layer=norm_layer,
            ),
            downsample_layer and partial(downsample_layer, norm_layer=norm_layer),
        )
        self.features = nn.Sequential(*stages)
        self.num_features = embed_dim * 2 ** (len(depths) - 1)
        self.norm = norm_layer(self.num_features)
        self.avgpool = nn.AdaptiveAvgPool3d(1)
        self.head = nn.Linear(self.num_features, num_classes)
        _init_linear(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.features(self.pos_drop(self.patch_embed(x))))
        x = self.avgpool(x.permute(0, 4, 1, 2, 3))
        result: Tensor = self.head(x.flatten(1))
        return result


Swin3D_T_Weights: Any = weights_enum(__name__, "Swin3D_T")
Swin3D_S_Weights: Any = weights_enum(__name__, "Swin3D_S")
Swin3D_B_Weights: Any = weights_enum(__name__, "Swin3D_B")


def _swin3d(
    weights: Any, sizes: tuple[int, list[int], list[int]]
) -> Callable[..., SwinTransformer3d]:
    title = f"Video Swin transformer of the size {name_of(weights)[-1]}"
    return builder(weights, title, SwinTransformer3d, [2, 4, 4], *sizes, [8, 7, 7])


swin3d_t = _swin3d(Swin3D_T_Weights, _T)
swin3d_s = _swin3d(Swin3D_S_Weights, _S)
swin3d_b = _swin3d(Swin3D_B_Weights, _B)
