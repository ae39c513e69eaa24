"""Swin transformer, versions `1 <https://arxiv.org/abs/2103.14030>`_ and
`2 <https://arxiv.org/abs/2111.09883>`_.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula._one_step import one_step
from facula.nn import functional as F
from facula.vision.models._api import builder, name_of, weights_enum
from facula.vision.models._utils import init_mlp
from facula.vision.ops.misc import MLP, Permute
from facula.vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "SwinTransformer",
    "Swin_B_Weights",
    "Swin_S_Weights",
    "Swin_T_Weights",
    "Swin_V2_B_Weights",
    "Swin_V2_S_Weights",
    "Swin_V2_T_Weights",
    "swin_b",
    "swin_s",
    "swin_t",
    "swin_v2_b",
    "swin_v2_s",
    "swin_v2_t",
]

Layer = Callable[..., nn.Module]


@one_step
def _patch_merging_pad(x: Tensor) -> Tensor:
    """The vectors of each 2x2 patches, one after the other: ``(..., H/2, W/2, 4 * C)``."""
    height, width = x.shape[-3:-1]
    x = F.pad(x, (0, 0, 0, width % 2, 0, height % 2))
    x = x.unflatten(-3, (-1, 2)).unflatten(-2, (-1, 2))  # (..., H/2, 2, W/2, 2, C)
    return x.movedim((-4, -2), (-2, -3)).flatten(-3)


def _relative_position_index(sizes: Sequence[int]) -> Tensor:
    """For each two places of a window, the number of the vector from one to the other."""
    index = facula.zeros(1, 1, dtype=facula.int64)
    for size in sizes:
        places = facula.arange(size)
        offsets = places[:, None] - places + (size - 1)
        n = len(index)
        # A number for each vector: one digit in base 2 * size - 1 for each dimension of the window.
        index = index[:, None, :, None] * (2 * size - 1) + offsets[:, None]
        index = index.reshape(n * size, n * size)
    return index


@one_step
def _get_relative_position_bias(
    relative_position_bias_table: Tensor, relative_position_index: Tensor, window_size: list[int]
) -> Tensor:
    """What is added to the scores of the heads, ``(1, num_heads, L, L)``."""
    n = math.prod(window_size)
    bias = relative_position_bias_table[relative_position_index].view(n, n, -1)
    return bias.permute(2, 0, 1).contiguous().unsqueeze(0)


class _PatchMerging(nn.Module):
    def __init__(self, dim: int, norm: nn.Module) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm


class PatchMerging(_PatchMerging):
    """Four neighbours to one vector of twice the size, normalised first.

    Shape:
        input ``(..., H, W, dim)``; result ``(..., H/2, W/2, 2 * dim)``.
    """

    def __init__(self, dim: int, norm_layer: Layer = nn.LayerNorm) -> None:
        super().__init__(dim, norm_layer(4 * dim))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.reduction(self.norm(_patch_merging_pad(x)))
        return result


class PatchMergingV2(_PatchMerging):
    """Four neighbours to one vector of twice the size, normalised last.

    Shape:
        input ``(..., H, W, dim)``; result ``(..., H/2, W/2, 2 * dim)``.
    """

    def __init__(self, dim: int, norm_layer: Layer = nn.LayerNorm) -> None:
        super().__init__(dim, norm_layer(2 * dim))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.norm(self.reduction(_patch_merging_pad(x)))
        return result


def _cut(x: Tensor, window: Sequence[int]) -> Tensor:
    """``(N, *sizes, C)`` to windows ``(N, n_windows, places of a window, C)``."""
    n = len(window)
    for i, size in enumerate(window):
        x = x.unflatten(1 + 2 * i, (-1, size))
    # Each dimension is now a number of windows and a place in one: the numbers go first.
    x = x.movedim(tuple(range(2, 1 + 2 * n, 2)), tuple(range(1 + n, 1 + 2 * n)))
    return x.flatten(1 + n, 2 * n).flatten(1, n)


def _join(x: Tensor, window: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """The inverse of :func:`_cut`."""
    n = len(window)
    x = x.unflatten(2, tuple(window))
    x = x.unflatten(1, tuple(size // w for size, w in zip(sizes, window, strict=True)))
    x = x.movedim(tuple(range(1 + n, 1 + 2 * n)), tuple(range(2, 1 + 2 * n, 2)))
    return x.reshape(x.shape[0], *sizes, x.shape[-1])


def _shift_mask(sizes: list[int], window: list[int], shift: list[int], like: Tensor) -> Tensor:
    """Keeps apart, in windows that a shift has filled from both ends of the image, what was far.

    The result ``(n_windows, 1, L, L)`` is added to the scores.
    """
    region = facula.zeros(1, *sizes, 1, dtype=facula.int64, device=like.device)
    for dim, (size, w, s) in enumerate(zip(sizes, window, shift, strict=True)):
        place = facula.arange(size, device=like.device)
        side = (place >= size - w).long() + (place >= size - s).long() if s else 0 * place
        region = 3 * region + side.view([-1] + [1] * (len(sizes) - dim))
    region = _cut(region, window)[0]
    # Regions are numbered in base 3, a digit for each dimension: equal numbers were neighbours.
    is_far = region != region.transpose(1, 2)
    # Not minus infinity: trained weights have seen this number.
    return facula.where(is_far, -100.0, 0.0).to(like.dtype).unsqueeze(1)


@one_step
def shifted_window_attention(
    input: Tensor,
    qkv_weight: Tensor,
    proj_weight: Tensor,
    relative_position_bias: Tensor,
    window_size: list[int],
    num_heads: int,
    shift_size: list[int],
    attention_dropout: float = 0.0,
    dropout: float = 0.0,
    qkv_bias: Tensor | None = None,
    proj_bias: Tensor | None = None,
    logit_scale: Tensor | None = None,
    training: bool = True,
) -> Tensor:
    """Self-attention within windows of an image or a video, shifted against its border.

    Args:
        input: channels last.
        qkv_weight: weight of the layer that makes queries, keys and values.
        proj_weight: weight of the layer after the attention.
        relative_position_bias: added to the scores, ``(1, num_heads, L, L)``.
        window_size: height and width of a window of ``L`` places; of a video duration first.
        num_heads: heads of the attention.
        shift_size: how far the windows are shifted in each of these dimensions.
        attention_dropout: the probability of dropout of the attention's weights.
        dropout: the probability of dropout of the result.
        qkv_bias: bias of the layer that makes queries, keys and values.
        proj_bias: bias of the layer after the attention.
        logit_scale: the logarithm of the factor of cosines; ``None`` for dot products.
        training: whether dropout drops.

    Shape:
        input ``(N, H, W, C)`` or ``(N, T, H, W, C)``; result the same.
    """
    dims = tuple(range(1, input.dim() - 1))
    old_sizes = list(input.shape[1:-1])
    padding = [-size % w for size, w in zip(old_sizes, window_size, strict=True)]
    x = F.pad(input, [0, 0] + [p for pad in reversed(padding) for p in (0, pad)])
    sizes = list(x.shape[1:-1])
    # Where one window covers a dimension there is nothing to shift.
    shift = [
        0 if w >= size else s for size, w, s in zip(sizes, window_size, shift_size, strict=True)
    ]
    if any(shift):
        x = x.roll([-s for s in shift], dims)
    x = _cut(x, window_size)

    if logit_scale is not None and qkv_bias is not None:
        # Keys have no bias where the scores are cosines.
        q_bias, _, v_bias = qkv_bias.chunk(3)
        qkv_bias = facula.cat([q_bias, facula.zeros_like(q_bias), v_bias])
    qkv = F.linear(x, qkv_weight, qkv_bias).unflatten(-1, (3, num_heads, -1))
    q, k, v = qkv.permute(3, 0, 1, 4, 2, 5).unbind(0)  # (N, n_windows, num_heads, L, head_dim)
    scale = None
    if logit_scale is not None:
        # A learnt factor may not grow without limit: softmax would become a choice of one key.
        q = F.normalize(q, dim=-1) * logit_scale.clamp(max=math.log(100.0)).exp()
        k = F.normalize(k, dim=-1)
        scale = 1.0
    if any(shift):
        bias = relative_position_bias + _shift_mask(sizes, window_size, shift, x)
    else:
        # All windows have one bias here, so they are a batch, and attention has four dimensions.
        q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
        bias = relative_position_bias
    p = attention_dropout if training else 0.0
    y = F.scaled_dot_product_attention(q, k, v, bias, dropout_p=p, scale=scale)
    y = y.transpose(-3, -2).reshape(x.shape)
    y = F.dropout(F.linear(y, proj_weight, proj_bias), dropout, training)

    y = _join(y, window_size, sizes)
    if any(shift):
        y = y.roll(shift, dims)
    for dim, size in zip(dims, old_sizes, strict=True):
        y = y.narrow(dim, 0, size)
    return y


class ShiftedWindowAttention(nn.Module):
    """:func:`shifted_window_attention` with its parameters; dot products give the scores.

    Args:
        dim: channels.
        window_size: height and width of a window.
        shift_size: how far the windows are shifted.
        num_heads: heads of the attention.
        qkv_bias: whether the first linear layer has a bias.
        proj_bias: whether the last one has.
        attention_dropout: the probability of dropout of the attention's weights.
        dropout: the probability of dropout of the result.

    Shape:
        input ``(N, H, W, dim)``; result the same.
    """

    _n_dims = 2

    relative_position_index: Tensor

    def __init__(
        self,
        dim: int,
        window_size: list[int],
        shift_size: list[int],
        num_heads: int,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if len(window_size) != self._n_dims or len(shift_size) != self._n_dims:
            raise ValueError(
                f"{type(self).__name__}: expected {self._n_dims} numbers in window_size and in "
                f"shift_size, got {window_size} and {shift_size}."
            )
        self.window_size = window_size
        self.shift_size = shift_size
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self) -> None:
        """A learnt number for each head and vector between two places."""
        n_vectors = math.prod(2 * size - 1 for size in self.window_size)
        table = nn.Parameter(facula.zeros(n_vectors, self.num_heads))
        self.relative_position_bias_table = nn.init.trunc_normal_(table, std=0.02)

    def define_relative_position_index(self) -> None:
        index = _relative_position_index(self.window_size).flatten()
        self.register_buffer("relative_position_index", index)

    def get_relative_position_bias(self) -> Tensor:
        return _get_relative_position_bias(
            self.relative_position_bias_table, self.relative_position_index, self.window_size
        )

    def forward(self, x: Tensor) -> Tensor:
        bias = self.get_relative_position_bias()
        return shifted_window_attention(
            x,
            self.qkv.weight,
            self.proj.weight,
            bias,
            self.window_size,
            self.num_heads,
            self.shift_size,
            self.attention_dropout,
            self.dropout,
            self.qkv.bias,
            self.proj.bias,
            getattr(self, "logit_scale", None),  # of the second version
            self.training,
        )


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """:func:`shifted_window_attention` with its parameters; cosines give the scores.

    A small network makes the bias of each vector between two places. The arguments are those of
    :class:`ShiftedWindowAttention`.

    Shape:
        input ``(N, H, W, dim)``; result the same.
    """

    relative_coords_table: Tensor

    def define_relative_position_bias_table(self) -> None:
        """The coordinates of the vectors between two places, on a logarithmic scale.

        With them come the network that makes their biases, and the scale of the cosines.
        """
        axes = [
            facula.arange(1 - size, size, dtype=facula.float32) / (size - 1) * 8
            for size in self.window_size
        ]
        table = facula.stack(facula.meshgrid(*axes, indexing="ij"), dim=-1).unsqueeze(0)
        table = facula.sign(table) * facula.log2(facula.abs(table) + 1.0) / 3.0
        self.register_buffer("relative_coords_table", table)
        self.logit_scale = nn.Parameter(facula.log(10 * facula.ones(self.num_heads, 1, 1)))
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, self.num_heads, bias=False)
        )
        if self.qkv.bias is not None:
            nn.init.zeros_(self.qkv.bias.chunk(3)[1])

    def get_relative_position_bias(self) -> Tensor:
        table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        index, window_size = self.relative_position_index, self.window_size
        return 16 * facula.sigmoid(_get_relative_position_bias(table, index, window_size))


class SwinTransformerBlock(nn.Module):
    """Window attention and an MLP, each after a norm and beside its input.

    Args:
        dim: channels.
        num_heads: heads of the attention.
        window_size: height and width of a window.
        shift_size: how far the windows are shifted.
        mlp_ratio: size of the MLP's hidden layer over ``dim``.
        dropout: the probability of dropout.
        attention_dropout: the probability of dropout of the attention's weights.
        stochastic_depth_prob: the probability to leave a branch out.
        norm_layer: makes the normalisations, called with ``dim``.
        attn_layer: makes the attention.

    Shape:
        input ``(N, H, W, dim)``; result the same.
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: list[int],
        shift_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Layer = nn.LayerNorm,
        attn_layer: Layer = ShiftedWindowAttention,
    ) -> None:
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = attn_layer(
            dim,
            window_size,
            shift_size,
            num_heads,
            attention_dropout=attention_dropout,
            dropout=dropout,
        )
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, dropout=dropout)
        init_mlp(self.mlp)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        x = x + self.stochastic_depth(self.mlp(self.norm2(x)))
        return x


class SwinTransformerBlockV2(SwinTransformerBlock):
    """Window attention and an MLP, each before a norm and beside its input.

    The arguments are those of :class:`SwinTransformerBlock`.

    Shape:
        input ``(N, H, W, dim)``; result the same.
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: list[int],
        shift_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Layer = nn.LayerNorm,
        attn_layer: Layer = ShiftedWindowAttentionV2,
    ) -> None:
        super().__init__(
            dim,
            num_heads,
            window_size,
            shift_size,
            mlp_ratio,
            dropout,
            attention_dropout,
            stochastic_depth_prob,
            norm_layer,
            attn_layer,
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        x = x + self.stochastic_depth(self.norm2(self.mlp(x)))
        return x


class SwinTransformer(nn.Module):
    """Patches of the image through stages of window attention, which merge patches in between.

    Args:
        patch_size: height and width of a patch.
        embed_dim: size of a patch's vector; it doubles from stage to stage.
        depths: blocks of each stage.
        num_heads: heads of the attention in each stage.
        window_size: height and width of a window of patches.
        mlp_ratio: size of the hidden layers over that of the vectors.
        dropout: the probability of dropout.
        attention_dropout: the probability of dropout of the attention's weights.
        stochastic_depth_prob: the probability to leave the last block out; that of the others grows
            linearly up to it.
        num_classes: outputs of the classifier.
        norm_layer: makes the normalisations; ``None`` for ``nn.LayerNorm``.
        block: makes the blocks; ``None`` for :class:`SwinTransformerBlock`.
        downsample_layer: makes what merges patches between the stages.

    Shape:
        input ``(N, 3, H, W)``; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models import SwinTransformer
        >>> model = SwinTransformer([4, 4], 8, [2, 2], [1, 2], window_size=[2, 2], num_classes=5)
        >>> model.eval()(facula.ones(1, 3, 32, 32)).shape
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
        num_classes: int = 1000,
        norm_layer: Layer | None = None,
        block: Layer | None = None,
        downsample_layer: Layer = PatchMerging,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        block = block or SwinTransformerBlock
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-5)
        size = (patch_size[0], patch_size[1])
        layers: list[nn.Module] = [
            nn.Sequential(
                nn.Conv2d(3, embed_dim, kernel_size=size, stride=size),
                Permute([0, 2, 3, 1]),
                norm_layer(embed_dim),
            )
        ]
        layers += _stages(
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
            partial(downsample_layer, norm_layer=norm_layer),
        )
        self.features = nn.Sequential(*layers)
        n_features = embed_dim * 2 ** (len(depths) - 1)
        self.norm = norm_layer(n_features)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(n_features, num_classes)
        _init_linear(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.permute(self.norm(self.features(x)))
        result: Tensor = self.head(self.flatten(self.avgpool(x)))
        return result


def _stages(
    dim: int,
    depths: list[int],
    num_heads: list[int],
    window_size: list[int],
    stochastic_depth_prob: float,
    block: Layer,
    downsample: Layer | None,
) -> list[nn.Module]:
    """The stages, with what merges patches between them; every second block is shifted."""
    layers: list[nn.Module] = []
    n_blocks, n_built = sum(depths), 0
    for stage, depth in enumerate(depths):
        if stage and downsample is not None:
            layers.append(downsample(dim))
            dim *= 2
        blocks = nn.Sequential()
        for i in range(depth):
            shift_size = [0 if i % 2 == 0 else w // 2 for w in window_size]
            depth_prob = stochastic_depth_prob * float(n_built) / (n_blocks - 1)
            heads = num_heads[stage]
            blocks.append(
                block(dim, heads, window_size, shift_size, stochastic_depth_prob=depth_prob)
            )
            n_built += 1
        layers.append(blocks)
    return layers


def _init_linear(model: nn.Module) -> None:
    for m in model.modules():
        if isinstance(m, nn.Linear):
            nn.init.trunc_normal_(m.weight, std=0.02)
            if m.bias is not None:
                nn.init.zeros_(m.bias)


Swin_T_Weights: Any = weights_enum(__name__, "Swin_T")
Swin_S_Weights: Any = weights_enum(__name__, "Swin_S")
Swin_B_Weights: Any = weights_enum(__name__, "Swin_B")
Swin_V2_T_Weights: Any = weights_enum(__name__, "Swin_V2_T")
Swin_V2_S_Weights: Any = weights_enum(__name__, "Swin_V2_S")
Swin_V2_B_Weights: Any = weights_enum(__name__, "Swin_V2_B")

_T = (96, [2, 2, 6, 2], [3, 6, 12, 24])
_S = (96, [2, 2, 18, 2], [3, 6, 12, 24])
_B = (128, [2, 2, 18, 2], [4, 8, 16, 32])


def _swin(
    weights: Any,
    sizes: tuple[int, list[int], list[int]],
    window: int,
    stochastic_depth_prob: float,
    **layers: Any,
) -> Callable[..., SwinTransformer]:
    return builder(
        weights,
        name_of(weights).replace("_", "-"),
        SwinTransformer,
        [4, 4],
        *sizes,
        [window, window],
        stochastic_depth_prob=stochastic_depth_prob,
        **layers,
    )


_swin_v2 = partial(_swin, block=SwinTransformerBlockV2, downsample_layer=PatchMergingV2)

swin_t = _swin(Swin_T_Weights, _T, 7, 0.2)
swin_s = _swin(Swin_S_Weights, _S, 7, 0.3)
swin_b = _swin(Swin_B_Weights, _B, 7, 0.5)
swin_v2_t = _swin_v2(Swin_V2_T_Weights, _T, 8, 0.2)
swin_v2_s = _swin_v2(Swin_V2_S_Weights, _S, 8, 0.3)
swin_v2_b = _swin_v2(Swin_V2_B_Weights, _B, 8, 0.5)
