"""MaxViT: `Multi-Axis Vision Transformer <https://arxiv.org/abs/2204.01697>`_."""

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula.nn import functional as F
from facula.vision.models._api import builder, weights_enum
from facula.vision.models.swin_transformer import (
    _get_relative_position_bias,
    _relative_position_index,
)
from facula.vision.ops.misc import Conv2dNormActivation, SqueezeExcitation
from facula.vision.ops.stochastic_depth import StochasticDepth

__all__ = ["MaxVit", "MaxVit_T_Weights", "maxvit_t"]

Layer = Callable[..., nn.Module]


def _halve(size: tuple[int, int]) -> tuple[int, int]:
    """The size after a 3x3 convolution of stride 2."""
    return (size[0] + 1) // 2, (size[1] + 1) // 2


class MBConv(nn.Module):
    """Expansion, depthwise convolution, squeeze-excitation and projection, beside the input.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        expansion_ratio: channels between over ``out_channels``.
        squeeze_ratio: channels of the squeeze over ``out_channels``.
        stride: 1 or 2.
        activation_layer: makes the activations after the first two convolutions.
        norm_layer: makes the normalisations before and between the convolutions.
        p_stochastic_dropout: the probability to leave the branch out.

    Shape:
        input ``(N, in_channels, H, W)``; result ``(N, out_channels, H / stride, W / stride)``.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        expansion_ratio: float,
        squeeze_ratio: float,
        stride: int,
        activation_layer: Layer,
        norm_layer: Layer,
        p_stochastic_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.proj: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            pool = [nn.AvgPool2d(kernel_size=3, stride=stride, padding=1)] if stride == 2 else []
            self.proj = nn.Sequential(*pool, nn.Conv2d(in_channels, out_channels, kernel_size=1))
        self.stochastic_depth = (
            StochasticDepth(p_stochastic_dropout, mode="row")
            if p_stochastic_dropout
            else nn.Identity()
        )
        width = int(out_channels * expansion_ratio)
        conv = partial(
            Conv2dNormActivation,
            norm_layer=norm_layer,
            activation_layer=activation_layer,
            inplace=None,
        )
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        layers["pre_norm"] = norm_layer(in_channels)
        layers["conv_a"] = conv(in_channels, width, kernel_size=1)
        layers["conv_b"] = conv(width, width, stride=stride, groups=width)
        layers["squeeze_excitation"] = SqueezeExcitation(
            width, int(out_channels * squeeze_ratio), activation=nn.SiLU
        )
        layers["conv_c"] = nn.Conv2d(width, out_channels, kernel_size=1)
        self.layers = nn.Sequential(layers)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.proj(x) + self.stochastic_depth(self.layers(x))
        return result


class RelativePositionalMultiHeadAttention(nn.Module):
    """Self-attention within each group, with a learnt bias for the vector between two places.

    Args:
        feat_dim: size of a place's vector.
        head_dim: size of a head.
        max_seq_len: places of a group, which are those of a square.

    Shape:
        input ``(N, n_groups, max_seq_len, feat_dim)``; result the same.
    """

    relative_position_index: Tensor

    def __init__(self, feat_dim: int, head_dim: int, max_seq_len: int) -> None:
        super().__init__()
        if feat_dim % head_dim != 0:
            raise ValueError(
                f"RelativePositionalMultiHeadAttention: a feat_dim of {feat_dim} is no multiple "
                f"of the head_dim {head_dim}."
            )
        self.n_heads = feat_dim // head_dim
        self.head_dim = head_dim
        self.size = int(math.sqrt(max_seq_len))
        self.max_seq_len = max_seq_len
        self.to_qkv = nn.Linear(feat_dim, self.n_heads * head_dim * 3)
        # The size of the whole vector, not of a head: the trained weights expect it.
        self.scale_factor = feat_dim**-0.5
        self.merge = nn.Linear(head_dim * self.n_heads, feat_dim)
        table = nn.Parameter(facula.empty((2 * self.size - 1) ** 2, self.n_heads))
        self.relative_position_bias_table = table
        index = _relative_position_index([self.size, self.size])
        self.register_buffer("relative_position_index", index)
        nn.init.trunc_normal_(table, std=0.02)

    def get_relative_positional_bias(self) -> Tensor:
        return _get_relative_position_bias(
            self.relative_position_bias_table,
            self.relative_position_index.flatten(),
            [self.size, self.size],
        )

    def forward(self, x: Tensor) -> Tensor:
        qkv: Tensor = self.to_qkv(x)
        # (3, N, n_groups, n_heads, places, head_dim); groups are a batch
        qkv = qkv.unflatten(-1, (3, self.n_heads, self.head_dim)).permute(3, 0, 1, 4, 2, 5)
        q, k, v = qkv.flatten(1, 2).unbind(0)
        bias = self.get_relative_positional_bias()
        y = F.scaled_dot_product_attention(q, k, v, bias, scale=self.scale_factor)
        result: Tensor = self.merge(y.transpose(1, 2).reshape_as(x))
        return result


class SwapAxes(nn.Module):
    """The input with the dimensions ``a`` and ``b`` exchanged."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.a = a
        self.b = b

    def forward(self, x: Tensor) -> Tensor:
        return x.swapaxes(self.a, self.b)


class WindowPartition(nn.Module):
    """An image ``(N, C, H, W)`` as windows ``(N, n_windows, p * p, C)``."""

    def forward(self, x: Tensor, p: int) -> Tensor:
        n, n_channels, height, width = x.shape
        x = x.reshape(n, n_channels, height // p, p, width // p, p).permute(0, 2, 4, 3, 5, 1)
        return x.reshape(n, (height // p) * (width // p), p * p, n_channels)


class WindowDepartition(nn.Module):
    """Windows ``(N, h_partitions * w_partitions, p * p, C)`` as an image ``(N, C, H, W)``."""

    def forward(self, x: Tensor, p: int, h_partitions: int, w_partitions: int) -> Tensor:
        n, _, _, n_channels = x.shape
        x = x.reshape(n, h_partitions, w_partitions, p, p, n_channels).permute(0, 5, 1, 3, 2, 4)
        return x.reshape(n, n_channels, h_partitions * p, w_partitions * p)


class PartitionAttentionLayer(nn.Module):
    """Attention within windows, or within grids of places as far apart as windows.

    Args:
        in_channels: channels.
        head_dim: size of a head.
        partition_size: height and width of a window or grid, counted in places.
        partition_type: ``"window"`` or ``"grid"``.
        grid_size: height and width of the image.
        mlp_ratio: size of the hidden layer over ``in_channels``.
        activation_layer: makes the activation of the hidden layer.
        norm_layer: makes the normalisations before attention and hidden layer.
        attention_dropout: the probability of dropout after the attention.
        mlp_dropout: the probability of dropout after the linear layers.
        p_stochastic_dropout: the probability to leave a branch out.

    Shape:
        input ``(N, in_channels, H, W)``; result the same.
    """

    def __init__(
        self,
        in_channels: int,
        head_dim: int,
        partition_size: int,
        partition_type: str,
        grid_size: tuple[int, int],
        mlp_ratio: int,
        activation_layer: Layer,
        norm_layer: Layer,
        attention_dropout: float,
        mlp_dropout: float,
        p_stochastic_dropout: float,
    ) -> None:
        super().__init__()
        if partition_type not in ("grid", "window"):
            raise ValueError(
                "PartitionAttentionLayer: expected a partition_type 'grid' or 'window', "
                f"got {partition_type!r}."
            )
        self.n_heads = in_channels // head_dim
        self.head_dim = head_dim
        self.n_partitions = grid_size[0] // partition_size
        self.partition_type = partition_type
        self.grid_size = grid_size
        is_window = partition_type == "window"
        self.p, self.g = (
            (partition_size, self.n_partitions)
            if is_window
            else (self.n_partitions, partition_size)
        )
        self.partition_op = WindowPartition()
        self.departition_op = WindowDepartition()
        # The places of the same number in all windows make a grid.
        self.partition_swap = nn.Identity() if is_window else SwapAxes(-2, -3)
        self.departition_swap = nn.Identity() if is_window else SwapAxes(-2, -3)
        self.attn_layer = nn.Sequential(
            norm_layer(in_channels),
            RelativePositionalMultiHeadAttention(in_channels, head_dim, partition_size**2),
            nn.Dropout(attention_dropout),
        )
        self.mlp_layer = nn.Sequential(
            nn.LayerNorm(in_channels),
            nn.Linear(in_channels, in_channels * mlp_ratio),
            activation_layer(),
            nn.Linear(in_channels * mlp_ratio, in_channels),
            nn.Dropout(mlp_dropout),
        )
        self.stochastic_dropout = StochasticDepth(p_stochastic_dropout, mode="row")

    def forward(self, x: Tensor) -> Tensor:
        gh, gw = self.grid_size[0] // self.p, self.grid_size[1] // self.p
        if self.grid_size[0] % self.p or self.grid_size[1] % self.p:
            raise AssertionError(
                f"PartitionAttentionLayer: a grid of {self.grid_size} cannot be cut into parts of "
                f"{self.p} x {self.p}."
            )
        x = self.partition_swap(self.partition_op(x, self.p))
        x = x + self.stochastic_dropout(self.attn_layer(x))
        x = x + self.stochastic_dropout(self.mlp_layer(x))
        result: Tensor = self.departition_op(self.departition_swap(x), self.p, gh, gw)
        return result


class MaxVitLayer(nn.Module):
    """An :class:`MBConv`, attention within windows, and attention within grids.

    The arguments are those of the three; ``partition_size`` and ``grid_size`` as for
    :class:`PartitionAttentionLayer`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        p_stochastic_dropout: float,
        partition_size: int,
        grid_size: tuple[int, int],
    ) -> None:
        super().__init__()
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        layers["MBconv"] = MBConv(
            in_channels,
            out_channels,
            expansion_ratio,
            squeeze_ratio,
            stride,
            activation_layer,
            norm_layer,
            p_stochastic_dropout,
        )
        for kind in ("window", "grid"):
            layers[f"{kind}_attention"] = PartitionAttentionLayer(
                out_channels,
                head_dim,
                partition_size,
                kind,
                grid_size,
                mlp_ratio,
                activation_layer,
                nn.LayerNorm,
                attention_dropout,
                mlp_dropout,
                p_stochastic_dropout,
            )
        self.layers = nn.Sequential(layers)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layers(x)
        return result


class MaxVitBlock(nn.Module):
    """Layers of one size, which the first of them halves.

    The arguments are those of :class:`MaxVitLayer`; ``p_stochastic`` has one probability for each
    of the ``n_layers``, and ``input_grid_size`` is that before the block.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        norm_layer: Layer,
        activation_layer: Layer,
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        partition_size: int,
        input_grid_size: tuple[int, int],
        n_layers: int,
        p_stochastic: list[float],
    ) -> None:
        super().__init__()
        if len(p_stochastic) != n_layers:
            raise ValueError(
                f"MaxVitBlock: expected p_stochastic with a number for each of {n_layers} layers, "
                f"got {p_stochastic}."
            )
        self.grid_size = _halve(input_grid_size)
        self.layers = nn.ModuleList(
            MaxVitLayer(
                out_channels if i else in_channels,
                out_channels,
                squeeze_ratio,
                expansion_ratio,
                1 if i else 2,
                norm_layer,
                activation_layer,
                head_dim,
                mlp_ratio,
                mlp_dropout,
                attention_dropout,
                p,
                partition_size,
                self.grid_size,
            )
            for i, p in enumerate(p_stochastic)
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class MaxVit(nn.Module):
    """Convolutions and attention, within windows and across them, in every layer.

    Args:
        input_size: height and width of the images, which are always the same.
        stem_channels: channels of the first convolutions.
        partition_size: height and width of windows and grids.
        block_channels: channels of each block; a block halves the image.
        block_layers: layers of each block.
        head_dim: size of a head.
        stochastic_depth_prob: the probability to leave the last layer out; that of the others grows
            linearly up to it.
        norm_layer: makes the normalisations of the convolutions; ``None`` for ``nn.BatchNorm2d``.
        activation_layer: makes the activations.
        squeeze_ratio: channels of a squeeze over those of its block.
        expansion_ratio: channels within a convolution over those of its block.
        mlp_ratio: size of the hidden layers over the channels.
        mlp_dropout: the probability of dropout after the linear layers.
        attention_dropout: the probability of dropout after the attention.
        num_classes: outputs of the classifier.

    Shape:
        input ``(N, 3, *input_size)``; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models import MaxVit
        >>> model = MaxVit((32, 32), 8, 4, [8, 16], [1, 1], 8, 0.1, num_classes=5)
        >>> model.eval()(facula.ones(1, 3, 32, 32)).shape
        torch.Size([1, 5])
    """

    def __init__(
        self,
        input_size: tuple[int, int],
        stem_channels: int,
        partition_size: int,
        block_channels: list[int],
        block_layers: list[int],
        head_dim: int,
        stochastic_depth_prob: float,
        norm_layer: Layer | None = None,
        activation_layer: Layer = nn.GELU,
        squeeze_ratio: float = 0.25,
        expansion_ratio: float = 4,
        mlp_ratio: int = 4,
        mlp_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)
        size = _halve(input_size)
        _check_sizes(size, len(block_channels), partition_size)
        self.stem = nn.Sequential(
            Conv2dNormActivation(
                3,
                stem_channels,
                stride=2,
                norm_layer=norm_layer,
                activation_layer=activation_layer,
                bias=False,
                inplace=None,
            ),
            Conv2dNormActivation(
                stem_channels, stem_channels, norm_layer=None, activation_layer=None, bias=True
            ),
        )
        self.partition_size = partition_size
        self.blocks = nn.ModuleList()
        probabilities = _spread(stochastic_depth_prob, sum(block_layers))
        channels, n_built = stem_channels, 0
        for out_channels, n_layers in zip(block_channels, block_layers, strict=False):
            block = MaxVitBlock(
                channels,
                out_channels,
                squeeze_ratio,
                expansion_ratio,
                norm_layer,
                activation_layer,
                head_dim,
                mlp_ratio,
                mlp_dropout,
                attention_dropout,
                partition_size,
                size,
                n_layers,
                probabilities[n_built : n_built + n_layers],
            )
            self.blocks.append(block)
            channels, size = out_channels, block.grid_size
            n_built += n_layers
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.LayerNorm(channels),
            nn.Linear(channels, channels),
            nn.Tanh(),
            nn.Linear(channels, num_classes, bias=False),
        )
        self._init_weights()

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        result: Tensor = self.classifier(x)
        return result

    def _init_weights(self) -> None:
        for m in self.modules():
            if isinstance(m, nn.Conv2d | nn.Linear):
                nn.init.normal_(m.weight, std=0.02)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)


def _check_sizes(size: tuple[int, int], n_blocks: int, partition_size: int) -> None:
    for i in range(n_blocks):
        size = _halve(size)
        if size[0] % partition_size or size[1] % partition_size:
            raise ValueError(
                f"MaxVit: the {size[0]} x {size[1]} places of block {i} cannot be cut into parts "
                f"of {partition_size} x {partition_size}. Change input_size or partition_size."
            )


def _spread(last: float, n: int) -> list[float]:
    """``n`` numbers from 0 to ``last``, equally far apart."""
    return [i * (last / (n - 1)) for i in range(n - 1)] + [last] if n > 1 else [0.0] * n


MaxVit_T_Weights: Any = weights_enum(__name__, "MaxVit_T")


maxvit_t = builder(
    MaxVit_T_Weights,
    "MaxViT of the size T",
    MaxVit,
    needs=lambda weights: {"input_size": weights.meta["min_size"]},
    input_size=(224, 224),
    stem_channels=64,
    partition_size=7,
    block_channels=[64, 128, 256, 512],
    block_layers=[2, 2, 5, 2],
    head_dim=32,
    stochastic_depth_prob=0.2,
)
