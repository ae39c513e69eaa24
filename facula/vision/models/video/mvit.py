"""MViT: multiscale vision transformers, versions `1 <https://arxiv.org/abs/2104.11227>`_ and
`2 <https://arxiv.org/abs/2112.01526>`_.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula._one_step import one_step
from facula.nn import functional as F
from facula.vision.models._api import builder, weights_enum
from facula.vision.ops.misc import MLP
from facula.vision.ops.stochastic_depth import StochasticDepth

__all__ = ["MViT", "MViT_V1_B_Weights", "MViT_V2_S_Weights", "mvit_v1_b", "mvit_v2_s"]

Layer = Callable[..., nn.Module]
_Size = tuple[int, int, int]


@dataclass
class MSBlockConfig:
    """A block: its channels, and the convolutions that pool its queries, keys and values."""

    num_heads: int
    input_channels: int
    output_channels: int
    kernel_q: list[int]
    kernel_kv: list[int]
    stride_q: list[int]
    stride_kv: list[int]


@one_step
def _with_frames(x: Tensor) -> Tensor:
    """An image is a video of one frame."""
    return x.unsqueeze(2) if x.dim() == 4 else x


@one_step
def _as_videos(x: Tensor, thw: _Size) -> Tensor:
    """Places ``(N, T * H * W, C)``, with or without heads after ``N``, as ``(N', C, T, H, W)``."""
    return x.transpose(-2, -1).flatten(0, x.dim() - 3).unflatten(-1, thw)


@one_step
def _as_places(videos: Tensor, like: Tensor) -> Tensor:
    """The inverse of :func:`_as_videos`; ``like`` says whether there are heads."""
    places = videos.flatten(2).transpose(1, 2)
    return places.unflatten(0, like.shape[:2]) if like.dim() == 4 else places


class Pool(nn.Module):
    """Pools the places of a sequence as those of a video; the class token stays as it is.

    Args:
        pool: the pooling, of videos ``(N, C, T, H, W)``.
        norm: the normalisation of vectors of size ``C``; ``None`` for none.
        activation: the activation after the norm; ``None`` for none.
        norm_before_pool: whether norm and activation come first.

    Shape:
        input ``(N, heads, 1 + T * H * W, C)`` or without heads, and ``thw``; the result is the
        same with the new sizes, and these.
    """

    def __init__(
        self,
        pool: nn.Module,
        norm: nn.Module | None,
        activation: nn.Module | None = None,
        norm_before_pool: bool = False,
    ) -> None:
        super().__init__()
        self.pool = pool
        layers = [layer for layer in (norm, activation) if layer is not None]
        self.norm_act = nn.Sequential(*layers) if layers else None
        self.norm_before_pool = norm_before_pool

    def forward(self, x: Tensor, thw: _Size) -> tuple[Tensor, _Size]:
        token, x = x.split([1, x.shape[-2] - 1], dim=-2)
        if self.norm_act is not None and self.norm_before_pool:
            x = self.norm_act(x)
        videos = self.pool(_as_videos(x, thw))
        result = facula.cat([token, _as_places(videos, x)], dim=-2)
        if self.norm_act is not None and not self.norm_before_pool:
            result = self.norm_act(result)
        t, h, w = videos.shape[2:]
        return result, (t, h, w)


def _relative(embedding: Tensor, n_q: int, n_k: int) -> Tensor:
    """The vectors ``(n_q, n_k, C)`` of the distances between queries and keys along a dimension.

    The coarser of the two sequences lies over the finer one, and the embedding is resampled where
    it was learnt for other lengths.
    """
    n_distances = 2 * max(n_q, n_k) - 1
    if len(embedding) != n_distances:
        embedding = F.interpolate(embedding.t()[None], size=n_distances, mode="linear")[0].t()
    q = facula.arange(n_q, device=embedding.device)[:, None] * max(n_k / n_q, 1.0)
    # Shifted by 1 - n_k, so that no distance is negative.
    k = (facula.arange(n_k, device=embedding.device) + (1.0 - n_k)) * max(n_q / n_k, 1.0)
    return embedding[(q - k).long()]


@one_step
def _relative_bias(
    q: Tensor, q_thw: _Size, k_thw: _Size, rel_pos_h: Tensor, rel_pos_w: Tensor, rel_pos_t: Tensor
) -> Tensor:
    """What positions add to the scores ``(N, heads, 1 + places of q, 1 + places of k)``."""
    places = q[:, :, 1:].unflatten(2, q_thw)
    t = facula.einsum("nathwc,tkc->nathwk", places, _relative(rel_pos_t, q_thw[0], k_thw[0]))
    h = facula.einsum("nathwc,hkc->nathwk", places, _relative(rel_pos_h, q_thw[1], k_thw[1]))
    w = facula.einsum("nathwc,wkc->nathwk", places, _relative(rel_pos_w, q_thw[2], k_thw[2]))
    bias = t[..., :, None, None] + h[..., None, :, None] + w[..., None, None, :]
    return F.pad(bias.flatten(5).flatten(2, 4), (1, 0, 1, 0))  # none for the class token


class MultiscaleAttention(nn.Module):
    """Self-attention over pooled queries, keys and values.

    Args:
        input_size: duration, height and width, in places.
        embed_dim: size of the input's vectors.
        output_dim: size of the result's vectors.
        num_heads: heads of the attention.
        kernel_q: kernel of the convolution that pools the queries; ``[]`` for none.
        kernel_kv: kernel of the convolutions that pool keys and values.
        stride_q: stride of the convolution that pools the queries.
        stride_kv: stride of the convolutions that pool keys and values.
        residual_pool: whether the pooled queries are added to the result.
        residual_with_cls_embed: whether that of the class token is, too.
        rel_pos_embed: whether distances have learnt vectors.
        dropout: the probability of dropout after the last linear layer.
        norm_layer: makes the normalisations after the convolutions.

    Shape:
        input ``(N, 1 + T * H * W, embed_dim)`` and its ``thw``; the result is
        ``(N, 1 + T' * H' * W', output_dim)`` and its sizes.
    """

    def __init__(
        self,
        input_size: list[int],
        embed_dim: int,
        output_dim: int,
        num_heads: int,
        kernel_q: list[int],
        kernel_kv: list[int],
        stride_q: list[int],
        stride_kv: list[int],
        residual_pool: bool,
        residual_with_cls_embed: bool,
        rel_pos_embed: bool,
        dropout: float = 0.0,
        norm_layer: Layer = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.embed_dim = embed_dim
        self.output_dim = output_dim
        self.num_heads = num_heads
        self.head_dim = output_dim // num_heads
        self.scaler = 1.0 / math.sqrt(self.head_dim)
        self.residual_pool = residual_pool
        self.residual_with_cls_embed = residual_with_cls_embed
        self.qkv = nn.Linear(embed_dim, 3 * output_dim)
        self.project = nn.Sequential(nn.Linear(output_dim, output_dim))
        if dropout > 0.0:
            self.project.append(nn.Dropout(dropout, inplace=True))
        self.pool_q = self._make_pool(kernel_q, stride_q, norm_layer)
        self.pool_k = self._make_pool(kernel_kv, stride_kv, norm_layer)
        self.pool_v = self._make_pool(kernel_kv, stride_kv, norm_layer)
        self.rel_pos_h: nn.Parameter | None = None
        self.rel_pos_w: nn.Parameter | None = None
        self.rel_pos_t: nn.Parameter | None = None
        if rel_pos_embed:
            size = max(input_size[1:])
            sizes = [size // stride[1] if stride else size for stride in (stride_q, stride_kv)]
            n_spatial, n_temporal = 2 * max(sizes) - 1, 2 * input_size[0] - 1
            self.rel_pos_h = nn.Parameter(facula.zeros(n_spatial, self.head_dim))
            self.rel_pos_w = nn.Parameter(facula.zeros(n_spatial, self.head_dim))
            self.rel_pos_t = nn.Parameter(facula.zeros(n_temporal, self.head_dim))
            for embedding in (self.rel_pos_h, self.rel_pos_w, self.rel_pos_t):
                nn.init.trunc_normal_(embedding, std=0.02)

    def _make_pool(self, kernel: list[int], stride: list[int], norm_layer: Layer) -> Pool | None:
        if math.prod(kernel) <= 1 and math.prod(stride) <= 1:
            return None
        conv = nn.Conv3d(
            self.head_dim,
            self.head_dim,
            kernel_size=(kernel[0], kernel[1], kernel[2]),
            stride=(stride[0], stride[1], stride[2]),
            padding=(kernel[0] // 2, kernel[1] // 2, kernel[2] // 2),
            groups=self.head_dim,
            bias=False,
        )
        return Pool(conv, norm_layer(self.head_dim))

    def forward(self, x: Tensor, thw: _Size) -> tuple[Tensor, _Size]:
        qkv: Tensor = self.qkv(x)
        qkv = qkv.unflatten(-1, (3, self.num_heads, self.head_dim))
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        k_thw = thw
        if self.pool_k is not None:
            k, k_thw = self.pool_k(k, thw)
        if self.pool_v is not None:
            v, _ = self.pool_v(v, thw)
        if self.pool_q is not None:
            q, thw = self.pool_q(q, thw)
        bias = None
        if self.rel_pos_h is not None and self.rel_pos_w is not None and self.rel_pos_t is not None:
            bias = _relative_bias(q, thw, k_thw, self.rel_pos_h, self.rel_pos_w, self.rel_pos_t)
        y = F.scaled_dot_product_attention(q, k, v, bias, scale=self.scaler)
        if self.residual_pool:
            y = y + (q if self.residual_with_cls_embed else F.pad(q[:, :, 1:], (0, 0, 1, 0)))
        return self.project(y.transpose(1, 2).flatten(2)), thw


class MultiscaleBlock(nn.Module):
    """:class:`MultiscaleAttention` and an MLP, each after a norm and beside its input.

    Args:
        input_size: duration, height and width, in places.
        cnf: channels and convolutions.
        residual_pool: whether the pooled queries are added to the attention's result.
        residual_with_cls_embed: whether that of the class token is, too.
        rel_pos_embed: whether distances have learnt vectors.
        proj_after_attn: whether the channels change in the attention or in the MLP.
        dropout: the probability of dropout.
        stochastic_depth_prob: the probability to leave a branch out.
        norm_layer: makes the normalisations, called with a number of channels.
    """

    def __init__(
        self,
        input_size: list[int],
        cnf: MSBlockConfig,
        residual_pool: bool,
        residual_with_cls_embed: bool,
        rel_pos_embed: bool,
        proj_after_attn: bool,
        dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Layer = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.proj_after_attn = proj_after_attn
        self.pool_skip: nn.Module | None = None
        if math.prod(cnf.stride_q) > 1:
            kernel = [stride + 1 if stride > 1 else stride for stride in cnf.stride_q]
            max_pool: Any = nn.MaxPool3d  # lists serve as well as the tuples of its annotations
            padding = [size // 2 for size in kernel]
            self.pool_skip = Pool(max_pool(kernel, stride=cnf.stride_q, padding=padding), None)
        width = cnf.output_channels if proj_after_attn else cnf.input_channels
        self.norm1 = norm_layer(cnf.input_channels)
        self.norm2 = norm_layer(width)
        self.needs_transposal = isinstance(self.norm1, nn.BatchNorm1d)
        self.attn = MultiscaleAttention(
            input_size,
            cnf.input_channels,
            width,
            cnf.num_heads,
            cnf.kernel_q,
            cnf.kernel_kv,
            cnf.stride_q,
            cnf.stride_kv,
            residual_pool,
            residual_with_cls_embed,
            rel_pos_embed,
            dropout,
            norm_layer,
        )
        self.mlp = MLP(
            width, [4 * width, cnf.output_channels], activation_layer=nn.GELU, dropout=dropout
        )
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.project = (
            nn.Linear(cnf.input_channels, cnf.output_channels)
            if cnf.input_channels != cnf.output_channels
            else None
        )

    def _norm(self, norm: nn.Module, x: Tensor) -> Tensor:
        result: Tensor = (
            norm(x.transpose(1, 2)).transpose(1, 2) if self.needs_transposal else norm(x)
        )
        return result

    def forward(self, x: Tensor, thw: _Size) -> tuple[Tensor, _Size]:
        normed = self._norm(self.norm1, x)
        attended, new_thw = self.attn(normed, thw)
        # The other branch is projected from the normalised input, not from the input: so trained.
        if self.project is not None and self.proj_after_attn:
            x = self.project(normed)
        if self.pool_skip is not None:
            x, _ = self.pool_skip(x, thw)
        x = x + self.stochastic_depth(attended)
        normed = self._norm(self.norm2, x)
        if self.project is not None and not self.proj_after_attn:
            x = self.project(normed)
        return x + self.stochastic_depth(self.mlp(normed)), new_thw


class PositionalEncoding(nn.Module):
    """The class token put before a sequence, and positions added unless distances have them."""

    def __init__(
        self,
        embed_size: int,
        spatial_size: tuple[int, int],
        temporal_size: int,
        rel_pos_embed: bool,
    ) -> None:
        super().__init__()
        self.spatial_size = spatial_size
        self.temporal_size = temporal_size
        self.class_token = nn.Parameter(facula.zeros(embed_size))
        self.spatial_pos: nn.Parameter | None = None
        self.temporal_pos: nn.Parameter | None = None
        self.class_pos: nn.Parameter | None = None
        if not rel_pos_embed:
            n_places = spatial_size[0] * spatial_size[1]
            self.spatial_pos = nn.Parameter(facula.zeros(n_places, embed_size))
            self.temporal_pos = nn.Parameter(facula.zeros(temporal_size, embed_size))
            self.class_pos = nn.Parameter(facula.zeros(embed_size))

    def forward(self, x: Tensor) -> Tensor:
        x = facula.cat([self.class_token.expand(x.shape[0], 1, -1), x], dim=1)
        if (
            self.spatial_pos is not None
            and self.temporal_pos is not None
            and self.class_pos is not None
        ):
            places = (self.temporal_pos[:, None] + self.spatial_pos).flatten(0, 1)
            x = x + facula.cat([self.class_pos[None], places])
        return x


class MViT(nn.Module):
    """Patches of a video through attention that has fewer places and more channels with depth.

    Args:
        spatial_size: height and width of the videos, which are always the same.
        temporal_size: number of frames of the videos.
        block_setting: the blocks.
        residual_pool: whether the pooled queries are added to an attention's result.
        residual_with_cls_embed: whether that of the class token is, too.
        rel_pos_embed: whether distances have learnt vectors, or else places.
        proj_after_attn: whether channels change in the attention or in the MLP.
        dropout: the probability of dropout before the classifier.
        attention_dropout: the probability of dropout within the blocks.
        stochastic_depth_prob: the probability to leave the last block out; that of the others grows
            linearly up to it.
        num_classes: outputs of the classifier.
        block: makes the blocks; ``None`` for :class:`MultiscaleBlock`.
        norm_layer: makes the normalisations; ``None`` for ``nn.LayerNorm`` with ``eps=1e-6``.
        patch_embed_kernel: kernel of the convolution that makes the vectors of patches.
        patch_embed_stride: stride of that convolution.
        patch_embed_padding: padding of that convolution.

    Shape:
        input ``(N, 3, temporal_size, *spatial_size)``; result ``(N, num_classes)``.
    """

    def __init__(
        self,
        spatial_size: tuple[int, int],
        temporal_size: int,
        block_setting: Sequence[MSBlockConfig],
        residual_pool: bool,
        residual_with_cls_embed: bool,
        rel_pos_embed: bool,
        proj_after_attn: bool,
        dropout: float = 0.5,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        num_classes: int = 400,
        block: Layer | None = None,
        norm_layer: Layer | None = None,
        patch_embed_kernel: _Size = (3, 7, 7),
        patch_embed_stride: _Size = (2, 4, 4),
        patch_embed_padding: _Size = (1, 3, 3),
    ) -> None:
        super().__init__()
        if not block_setting:
            raise ValueError("MViT: block_setting has no blocks.")
        block = block or MultiscaleBlock
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        channels = block_setting[0].input_channels
        self.conv_proj = nn.Conv3d(
            3, channels, patch_embed_kernel, patch_embed_stride, patch_embed_padding
        )
        video = (temporal_size, *spatial_size)
        size = [n // stride for n, stride in zip(video, patch_embed_stride, strict=True)]
        self.pos_encoding = PositionalEncoding(channels, (size[1], size[2]), size[0], rel_pos_embed)
        self.blocks = nn.ModuleList()
        for i, cnf in enumerate(block_setting):
            self.blocks.append(
                block(
                    size,
                    cnf,
                    residual_pool,
                    residual_with_cls_embed,
                    rel_pos_embed,
                    proj_after_attn,
                    attention_dropout,
                    stochastic_depth_prob * i / (len(block_setting) - 1.0),
                    norm_layer,
                )
            )
            if cnf.stride_q:
                size = [n // stride for n, stride in zip(size, cnf.stride_q, strict=True)]
        channels = block_setting[-1].output_channels
        self.norm = norm_layer(channels)
        self.head = nn.Sequential(
            nn.Dropout(dropout, inplace=True), nn.Linear(channels, num_classes)
        )

        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.trunc_normal_(m.weight, std=0.02)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)
            elif isinstance(m, PositionalEncoding):
                for parameter in m.parameters():
                    nn.init.trunc_normal_(parameter, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv_proj(_with_frames(x))
        x = self.pos_encoding(x.flatten(2).transpose(1, 2))
        thw = (self.pos_encoding.temporal_size, *self.pos_encoding.spatial_size)
        for block in self.blocks:
            x, thw = block(x, thw)
        result: Tensor = self.head(self.norm(x)[:, 0])
        return result


MViT_V1_B_Weights: Any = weights_enum(__name__, "MViT_V1_B")
MViT_V2_S_Weights: Any = weights_enum(__name__, "MViT_V2_S")

_WIDTHS = [96] + [192] * 2 + [384] * 11 + [768] * 2  # of the 16 blocks of both models
_HALVING = (1, 3, 14)  # those that halve height and width


def _settings(inputs: list[int], outputs: list[int], pools_always: bool) -> list[MSBlockConfig]:
    """The blocks; version 1 convolves queries only where that halves them."""
    blocks = []
    for i, (n_in, n_out, width) in enumerate(zip(inputs, outputs, _WIDTHS, strict=True)):
        is_pooled = pools_always or i in _HALVING
        step = 2 if i in _HALVING else 1
        # Keys and values have the same number of places everywhere.
        kv_step = 8 * 96 // width
        blocks.append(
            MSBlockConfig(
                num_heads=width // 96,
                input_channels=n_in,
                output_channels=n_out,
                kernel_q=[3, 3, 3] if is_pooled else [],
                kernel_kv=[3, 3, 3],
                stride_q=[1, step, step] if is_pooled else [],
                stride_kv=[1, kv_step, kv_step],
            )
        )
    return blocks


def _mvit(
    weights: Any, title: str, blocks: list[MSBlockConfig], is_v2: bool
) -> Callable[..., MViT]:
    return builder(
        weights,
        title,
        MViT,
        needs=lambda weights: {
            "spatial_size": weights.meta["min_size"],
            "temporal_size": weights.meta["min_temporal_size"],
        },
        spatial_size=(224, 224),
        temporal_size=16,
        block_setting=blocks,
        residual_pool=is_v2,
        residual_with_cls_embed=False,
        rel_pos_embed=is_v2,
        proj_after_attn=is_v2,
        stochastic_depth_prob=0.2,
    )


_V1 = _settings(_WIDTHS, [*_WIDTHS[1:], 768], pools_always=False)
_V2 = _settings([96, *_WIDTHS[:-1]], _WIDTHS, pools_always=True)

mvit_v1_b = _mvit(MViT_V1_B_Weights, "MViT of the size B", _V1, is_v2=False)
mvit_v2_s = _mvit(MViT_V2_S_Weights, "MViT version 2 of the size S", _V2, is_v2=True)
