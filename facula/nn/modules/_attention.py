"""Attention in several heads."""

from __future__ import annotations

from typing import Any

import facula
from facula._core import Tensor
from facula.nn import functional as F
from facula.nn import init
from facula.nn.modules.linear import NonDynamicallyQuantizableLinear
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention in several heads, each over its share of the features.

    Args:
        embed_dim: the number of features ``E`` of all heads together.
        num_heads: the number of heads, a divisor of ``embed_dim``.
        dropout: the probability with which a weight becomes 0 in training.
        bias: whether the projections have biases.
        add_bias_kv: whether a learnt key and a learnt value are added to each sequence.
        add_zero_attn: whether a key and value of zeros are added.
        kdim: the number of features of the keys, by default ``embed_dim``.
        vdim: the number of features of the values, by default ``embed_dim``.
        batch_first: whether the batch is the first dimension, ``(N, L, E)``, and not the second.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        query ``(L, N, E)`` or ``(L, E)``, key ``(S, N, kdim)`` or ``(S, kdim)``, value with
        ``vdim``; the result is as query. The weights are ``(N, L, S)``, ``(N, num_heads, L, S)``
        where not averaged, without ``N`` for inputs without.

    Example:
        >>> attention = facula.nn.MultiheadAttention(embed_dim=8, num_heads=2)
        >>> x = facula.ones(5, 3, 8)
        >>> y, weights = attention(x, x, x)
        >>> y.shape, weights.shape
        (torch.Size([5, 3, 8]), torch.Size([3, 5, 5]))
    """

    __constants__ = ("batch_first",)
    in_proj_weight: Tensor | None
    in_proj_bias: Tensor | None
    q_proj_weight: Tensor | None
    k_proj_weight: Tensor | None
    v_proj_weight: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"MultiheadAttention: expected a positive embed_dim and num_heads, got {embed_dim} "
                f"and {num_heads}."
            )
        if embed_dim % num_heads != 0:
            raise AssertionError(
                f"MultiheadAttention: expected num_heads to divide embed_dim={embed_dim}, got "
                f"{num_heads}. (embed_dim must be divisible by num_heads)"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        kind = {"device": device, "dtype": dtype}

        def parameter(*sizes: int) -> Parameter:
            return Parameter(facula.empty(sizes, **kind))

        # The names that are not used are registered as None: state_dict and repr are PyTorch's, and
        # a name can be asked for in either case.
        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            for letter in "qkv":
                self.register_parameter(f"{letter}_proj_weight", None)
        else:
            self.q_proj_weight = parameter(embed_dim, embed_dim)
            self.k_proj_weight = parameter(embed_dim, self.kdim)
            self.v_proj_weight = parameter(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = parameter(3 * embed_dim)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **kind)
        self.bias_k = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (
            self.in_proj_weight,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
        ):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The averaged values, and the weights where they are needed.

        Args:
            query: the vectors that look for values.
            key: the vectors that queries are compared with.
            value: the vectors that are averaged.
            key_padding_mask: ``(N, S)`` or ``(S,)``: keys to leave out (True), or numbers added to
                their scores.
            need_weights: whether the weights are returned; attention is faster without them.
            attn_mask: ``(L, S)`` or ``(N * num_heads, L, S)``: pairs of query and key to leave out
                (True), or numbers added to their scores.
            average_attn_weights: whether the weights are the mean over the heads.
            is_causal: a hint that ``attn_mask`` is causal; the mask must be given nevertheless.

        Example:
            >>> m = facula.nn.MultiheadAttention(8, 2)
            >>> x = facula.ones(5, 3, 8)
            >>> output, weights = m(x, x, x)
            >>> output.shape, weights.shape
            (torch.Size([5, 3, 8]), torch.Size([3, 5, 5]))
        """
        swaps = self.batch_first and query.dim() == 3
        if swaps:
            # Inputs that are one object must stay one, since F then projects them in one product:
            # two transposed views of a tensor would be two objects.
            is_self, is_pair = query is key and key is value, key is value
            query = query.transpose(0, 1)
            key = query if is_self else key.transpose(0, 1)
            value = key if is_pair else value.transpose(0, 1)
        y, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (y.transpose(0, 1) if swaps else y), weights
