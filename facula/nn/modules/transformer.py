"""Transformers: layers of attention and feed-forward networks."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import facula
from facula._core import Tensor
from facula.backends.mha import get_fastpath_enabled
from facula.nn import functional as F
from facula.nn import init
from facula.nn.functional._attention import _canonical_mask
from facula.nn.modules._attention import MultiheadAttention
from facula.nn.modules.activation import GELU, ReLU
from facula.nn.modules.container import ModuleList
from facula.nn.modules.dropout import Dropout
from facula.nn.modules.linear import Linear
from facula.nn.modules.module import Module
from facula.nn.modules.normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

_Activation = str | Callable[[Tensor], Tensor]


class Transformer(Module):
    """An encoder of the source and a decoder of the target that looks at its result.

    Args:
        d_model: the number of features ``E``.
        nhead: the number of heads of attention.
        num_encoder_layers: the number of layers of the encoder.
        num_decoder_layers: the number of layers of the decoder.
        dim_feedforward: the features inside the feed-forward networks.
        dropout: the probability with which an element becomes 0 in training, in all places.
        activation: what the feed-forward networks apply between their layers: ``"relu"``,
            ``"gelu"`` or a function.
        custom_encoder: a module in place of the encoder.
        custom_decoder: a module in place of the decoder.
        layer_norm_eps: the ``eps`` of the normalisations.
        batch_first: whether the batch is the first dimension and not the second.
        norm_first: whether normalisation comes before attention and feed-forward networks.
        bias: whether the linear layers and normalisations have biases.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        src ``(S, N, E)`` or ``(S, E)``, tgt ``(T, N, E)`` or ``(T, E)``; the result is as tgt.

    Example:
        >>> model = facula.nn.Transformer(8, 2, 1, 1, dim_feedforward=16)
        >>> model(facula.ones(5, 3, 8), facula.ones(4, 3, 8)).shape
        torch.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = F.relu,
        custom_encoder: Any | None = None,
        custom_decoder: Any | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind = {"bias": bias, "device": device, "dtype": dtype}
        arguments = (d_model, nhead, dim_feedforward, dropout, activation)
        options = {"batch_first": batch_first, "norm_first": norm_first, **kind}
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*arguments, layer_norm_eps, **options)
            norm = LayerNorm(d_model, eps=layer_norm_eps, **kind)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            last = TransformerDecoderLayer(*arguments, layer_norm_eps, **options)
            norm = LayerNorm(d_model, eps=layer_norm_eps, **kind)
            self.decoder = TransformerDecoder(last, num_decoder_layers, norm)
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoder's result for tgt, given src.

        Masks leave out what is True or add numbers to scores; those of padding have a number for
        each key. A mask that is not said to be causal or not is looked at.
        """
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError(
                f"Transformer: expected src and tgt of one batch size (dimension {batch_dim}), got "
                f"{tuple(src.shape)} and {tuple(tgt.shape)}."
            )
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(
                f"Transformer: expected src and tgt of d_model={self.d_model} features (their last "
                f"dimension), got {tuple(src.shape)} and {tuple(tgt.shape)}."
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        result: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return result

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask that hides what comes later: ``-inf`` above the diagonal, 0 elsewhere.

        Example:
            >>> facula.nn.Transformer.generate_square_subsequent_mask(2)
            tensor([[0., -inf],
                    [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)


class TransformerEncoder(Module):
    """Several encoder layers, one after the other.

    Args:
        encoder_layer: the layer that all layers are copies of.
        num_layers: the number of layers.
        norm: a layer that normalises the result, or None.
        enable_nested_tensor: whether results at padding become 0 in evaluation without gradients,
            as on PyTorch's path for padded batches.
        mask_check: whether results at padding become 0 only if all padding is at the end of the
            sequences.

    Shape:
        src ``(S, N, E)`` or ``(S, E)``; the result is as src.

    Example:
        >>> layer = facula.nn.TransformerEncoderLayer(d_model=8, nhead=2)
        >>> encoder = facula.nn.TransformerEncoder(layer, num_layers=2)
        >>> encoder(facula.ones(5, 3, 8)).shape
        torch.Size([5, 3, 8])
    """

    __constants__ = ("norm",)

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        self.use_nested_tensor = enable_nested_tensor and _has_padded_path(encoder_layer)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Pass the source through all layers.

        Args:
            src: the sequences to encode.
            mask: the pairs of positions to leave out (True), or numbers added to their scores.
            src_key_padding_mask: the positions to leave out (True), or numbers added to their
                scores.
            is_causal: whether ``mask`` is causal; by default the mask is looked at.

        Example:
            >>> from facula import nn
            >>> layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
            >>> m = nn.TransformerEncoder(layer, 2)
            >>> m(facula.ones(3, 5, 8)).shape
            torch.Size([3, 5, 8])
        """
        # Once for all layers: to look at a mask waits for the device that it is on.
        padding = _padding_of(src_key_padding_mask, mask, src)
        mask = _canonical_mask(mask, "mask", None, "", src.dtype)
        is_causal = _is_causal(mask, is_causal, _length(src, self.layers[0].self_attn.batch_first))
        y = src
        for layer in self.layers:
            y = layer(y, src_mask=mask, src_key_padding_mask=padding, is_causal=is_causal)
        if padding is not None and self._clears_padding(src, padding):
            y = y.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        return y if self.norm is None else self.norm(y)

    # PyTorch has a fast path for padded batches, which drops the padding and puts zeros there at
    # the end. Ours needs no such path, but results must agree at padding, too: these are its
    # conditions.
    def _clears_padding(self, src: Tensor, padding: Tensor) -> bool:
        if not self.use_nested_tensor or self.training or src.dim() != 3 or src.is_meta:
            return False
        if not get_fastpath_enabled():
            return False
        if facula.is_grad_enabled() and (
            src.requires_grad or any(p.requires_grad for p in self.layers.parameters())
        ):
            return False
        # PyTorch packs sequences from the left, so that padding in the middle rules the path out.
        # The check waits for the device; mask_check=False promises that it would succeed.
        is_hidden = padding != 0
        return not self.mask_check or bool((is_hidden[:, 1:] >= is_hidden[:, :-1]).all())


class TransformerDecoder(Module):
    """Several decoder layers, one after the other.

    Args:
        decoder_layer: the layer that all layers are copies of.
        num_layers: the number of layers.
        norm: a layer that normalises the result, or None.

    Shape:
        tgt ``(T, N, E)`` or ``(T, E)``, memory ``(S, N, E)`` or ``(S, E)``; the result is as tgt.

    Example:
        >>> layer = facula.nn.TransformerDecoderLayer(d_model=8, nhead=2)
        >>> decoder = facula.nn.TransformerDecoder(layer, num_layers=2)
        >>> decoder(facula.ones(4, 3, 8), facula.ones(5, 3, 8)).shape
        torch.Size([4, 3, 8])
    """

    __constants__ = ("norm",)

    def __init__(
        self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Pass the target through all layers, each of which looks at ``memory``."""
        is_causal = _is_causal(
            tgt_mask, tgt_is_causal, _length(tgt, self.layers[0].self_attn.batch_first)
        )
        y = tgt
        for layer in self.layers:
            y = layer(
                y,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=is_causal,
                memory_is_causal=memory_is_causal,
            )
        return y if self.norm is None else self.norm(y)


class TransformerEncoderLayer(Module):
    """Attention of a sequence to itself and a feed-forward network, both added to their inputs.

    Args:
        d_model: the number of features ``E``.
        nhead: the number of heads of attention.
        dim_feedforward: the features inside the feed-forward network.
        dropout: the probability with which an element becomes 0 in training, in all places.
        activation: what the feed-forward network applies between its layers: ``"relu"``, ``"gelu"``
            or a function.
        layer_norm_eps: the ``eps`` of the normalisations.
        batch_first: whether the batch is the first dimension and not the second.
        norm_first: whether normalisation comes before attention and feed-forward network.
        bias: whether the linear layers and normalisations have biases.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        src ``(S, N, E)`` or ``(S, E)``; the result is as src.

    Example:
        >>> layer = facula.nn.TransformerEncoderLayer(d_model=8, nhead=2)
        >>> layer(facula.ones(5, 3, 8)).shape
        torch.Size([5, 3, 8])
    """

    __constants__ = ("norm_first",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **kind
        )
        self.linear1 = Linear(d_model, dim_feedforward, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **kind)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **kind)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **kind)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Pass the sequence through attention and the feed-forward network.

        Args:
            src: the sequences to encode.
            src_mask: the pairs of positions to leave out (True), or numbers added to their scores.
            src_key_padding_mask: the positions to leave out (True), or numbers added to their
                scores.
            is_causal: a hint that ``src_mask`` is causal; the mask must be given nevertheless.

        Example:
            >>> m = facula.nn.TransformerEncoderLayer(8, 2, batch_first=True)
            >>> mask = facula.ones(5, 5).triu(1).bool()
            >>> m(facula.ones(3, 5, 8), src_mask=mask, is_causal=True).shape
            torch.Size([3, 5, 8])
        """
        padding = _padding_of(src_key_padding_mask, src_mask, src)
        mask = _canonical_mask(src_mask, "src_mask", None, "", src.dtype)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal)
            x = x + self._ff_block(self.norm2(x))
        else:
            x = self.norm1(x + self._sa_block(x, mask, padding, is_causal))
            x = self.norm2(x + self._ff_block(x))
        return x

    def _sa_block(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool
    ) -> Tensor:
        y: Tensor = self.dropout1(_attend(self.self_attn, x, x, mask, padding, is_causal))
        return y

    def _ff_block(self, x: Tensor) -> Tensor:
        y: Tensor = self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return y


class TransformerDecoderLayer(Module):
    """Attention of a sequence to itself, attention to another and a feed-forward network.

    Each is added to its input.

    Args:
        d_model: the number of features ``E``.
        nhead: the number of heads of attention.
        dim_feedforward: the features inside the feed-forward network.
        dropout: the probability with which an element becomes 0 in training, in all places.
        activation: what the feed-forward network applies between its layers: ``"relu"``, ``"gelu"``
            or a function.
        layer_norm_eps: the ``eps`` of the normalisations.
        batch_first: whether the batch is the first dimension and not the second.
        norm_first: whether normalisation comes before attention and feed-forward network.
        bias: whether the linear layers and normalisations have biases.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        tgt ``(T, N, E)`` or ``(T, E)``, memory ``(S, N, E)`` or ``(S, E)``; the result is as tgt.

    Example:
        >>> layer = facula.nn.TransformerDecoderLayer(d_model=8, nhead=2)
        >>> layer(facula.ones(4, 3, 8), facula.ones(5, 3, 8)).shape
        torch.Size([4, 3, 8])
    """

    __constants__ = ("norm_first",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind = {"bias": bias, "device": device, "dtype": dtype}
        heads = {"dropout": dropout, "batch_first": batch_first, **kind}
        self.self_attn = MultiheadAttention(d_model, nhead, **heads)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **heads)
        self.linear1 = Linear(d_model, dim_feedforward, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **kind)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **kind)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **kind)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, **kind)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Pass the target through both kinds of attention and the feed-forward network."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            x = x + self._ff_block(self.norm3(x))
        else:
            x = self.norm1(x + self._sa_block(x, *own))
            x = self.norm2(x + self._mha_block(x, memory, *other))
            x = self.norm3(x + self._ff_block(x))
        return x

    def _sa_block(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool
    ) -> Tensor:
        y: Tensor = self.dropout1(_attend(self.self_attn, x, x, mask, padding, is_causal))
        return y

    def _mha_block(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        padding: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        y: Tensor = self.dropout2(_attend(self.multihead_attn, x, memory, mask, padding, is_causal))
        return y

    def _ff_block(self, x: Tensor) -> Tensor:
        y: Tensor = self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return y


def _attend(
    attention: MultiheadAttention,
    x: Tensor,
    memory: Tensor,
    mask: Tensor | None,
    padding: Tensor | None,
    is_causal: bool,
) -> Tensor:
    y: Tensor = attention(
        x,
        memory,
        memory,
        attn_mask=mask,
        key_padding_mask=padding,
        need_weights=False,
        is_causal=is_causal,
    )[0]
    return y


# As in PyTorch, all layers begin with the same values. Transformer draws them anew, one by one.
def _get_clones(module: Module, N: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _get_activation_fn(activation: _Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(
            f"transformer: expected activation as 'relu', 'gelu' or a function, got {activation!r}."
        )
    return F.relu if activation == "relu" else F.gelu


def _causal_mask(n: int, device: Any = None, dtype: Any = None) -> Tensor:
    return facula.full((n, n), -math.inf, device=device, dtype=dtype).triu(1)


def _length(x: Tensor, batch_first: bool) -> int | None:
    """The length of the sequences; None for a shape that attention will refuse."""
    if x.dim() not in (2, 3):
        return None
    length: int = x.size(1 if batch_first and x.dim() == 3 else 0)
    return length


def _is_causal(mask: Tensor | None, is_causal: bool | None, length: int | None) -> bool:
    """Whether the mask is causal, by the caller's word or, without one, by its values."""
    # The caller's word is not checked: a wrong True gives the results of a causal mask, as in
    # PyTorch.
    if is_causal is not None or mask is None:
        return is_causal is True
    if length is None or tuple(mask.shape) != (length, length) or mask.is_meta:
        return False
    return bool((mask == _causal_mask(length, mask.device, mask.dtype)).all())


def _padding_of(padding: Tensor | None, mask: Tensor | None, src: Tensor) -> Tensor | None:
    other = None if mask is None else mask.dtype
    return _canonical_mask(padding, "src_key_padding_mask", other, "attn_mask", src.dtype)


def _has_padded_path(layer: Module) -> bool:
    """Whether PyTorch has a path of its own for padded batches through this layer."""
    if not isinstance(layer, TransformerEncoderLayer) or layer.norm_first:
        return False
    # Asked when the encoder is made, as in PyTorch: what is changed in the layer later does not
    # count.
    attention = layer.self_attn
    return (
        attention.batch_first
        and attention._qkv_same_embed_dim
        and attention.in_proj_bias is not None
        and attention.num_heads % 2 == 0
        and layer.norm1.eps == layer.norm2.eps
        and (layer.activation in (F.relu, F.gelu) or isinstance(layer.activation, (ReLU, GELU)))
    )
