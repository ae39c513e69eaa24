"""Attention with several heads, from the projections of its inputs to that of its result."""

from __future__ import annotations

import math

import facula
from facula._core import Tensor
from facula._warnings import warn_user
from facula.nn import functional as F

__all__ = ["multi_head_attention_forward"]


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention in several heads, each over its share of the features.

    This is what :class:`facula.nn.MultiheadAttention` computes with its parameters.

    Args:
        query: the vectors that look for values.
        key: the vectors that queries are compared with.
        value: the vectors that are averaged.
        embed_dim_to_check: the number of features ``E`` that query must have.
        num_heads: the number of heads, a divisor of ``E``.
        in_proj_weight: the projections of query, key and value, one below the other.
        in_proj_bias: the biases of the projections of query, key and value, or None.
        bias_k: a key that is added to all sequences; it comes together with ``bias_v``.
        bias_v: the value that belongs to the key ``bias_k``.
        add_zero_attn: whether a key and value of zeros are added.
        dropout_p: the probability with which a weight becomes 0 in training.
        out_proj_weight: the projection of the result.
        out_proj_bias: the bias of the projection of the result, or None.
        training: whether dropout is applied.
        key_padding_mask: keys to leave out (True), or numbers added to their scores.
        need_weights: whether the weights are returned; attention is faster without them.
        attn_mask: pairs of query and key to leave out (True), or numbers added to their scores.
        use_separate_proj_weight: whether three separate weights replace ``in_proj_weight``.
        q_proj_weight: the projection of query.
        k_proj_weight: the projection of key.
        v_proj_weight: the projection of value.
        static_k: keys to use as they are, instead of a projection of key.
        static_v: values to use as they are, instead of a projection of value.
        average_attn_weights: whether the weights are the mean over the heads.
        is_causal: a hint that ``attn_mask`` is causal; the mask must be given nevertheless.

    Shape:
        query ``(L, N, E)`` or ``(L, E)``, key and value ``(S, N, E)`` or ``(S, E)``;
        in_proj_weight ``(3 E, E)``, out_proj_weight ``(E, E)``; bias_k and bias_v ``(1, 1, E)``;
        key_padding_mask ``(N, S)`` or ``(S,)``; attn_mask ``(L, S)`` or ``(N * num_heads, L, S)``;
        static_k and static_v ``(N * num_heads, S, E / num_heads)``. The result is as query; the
        weights are ``(N, L, S)``, ``(N, num_heads, L, S)`` where not averaged, without ``N`` for
        inputs without.

    Example:
        >>> from facula.nn import functional as F
        >>> x, eye = facula.eye(2), facula.eye(2)
        >>> y, weights = F.multi_head_attention_forward(
        ...     x, x, x, 2, 1, eye.repeat(3, 1), None, None, None, False, 0.0, eye, None
        ... )
        >>> weights
        tensor([[0.6698, 0.3302],
                [0.3302, 0.6698]])
    """
    is_batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    _check_features(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "multi_head_attention_forward: is_causal=True only says that attn_mask is causal, but "
            "there is no attn_mask. Make one with nn.Transformer.generate_square_subsequent_mask."
        )
    other = None if attn_mask is None else attn_mask.dtype
    padding = _canonical_mask(key_padding_mask, "key_padding_mask", other, "attn_mask", query.dtype)
    # The fused operation has causal masks built in, but cannot combine them with another mask.
    is_causal = is_causal and padding is None and not need_weights
    mask = None if is_causal else _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype)
    if mask is not None:
        mask = _pairs_mask(mask, query, key, num_heads)

    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        biases = () if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = _in_projection(query, key, value, *weights, *biases)
    else:
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    # From here on all are (N, heads, length, width), for a single sequence with N = 1.
    q, k, v = (_split_heads(x, num_heads) for x in (q, k, v))
    if static_k is not None:
        k = _checked_static("static_k", static_k, q)
    if static_v is not None:
        v = _checked_static("static_v", static_v, q)
    if bias_k is not None or bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError(
                "multi_head_attention_forward: bias_k and bias_v do not go with static_k and "
                "static_v. Leave one of the pairs out."
            )
        k, v = _append(k, bias_k, "bias_k"), _append(v, bias_v, "bias_v")
    if add_zero_attn:
        k, v = F.pad(k, (0, 0, 0, 1)), F.pad(v, (0, 0, 0, 1))
    if padding is not None:
        padding = _padding_mask(padding, key.size(0))
    if mask is not None:
        mask = _see_added_keys(mask, k.size(2))
    if padding is not None:
        padding = _see_added_keys(padding, k.size(2))
        mask = padding if mask is None else mask + padding

    dropout_p = dropout_p if training else 0.0
    attn_weights = None
    # The fused operation never has the weights as a whole, which is why it is faster. The query is
    # scaled before the product, as PyTorch does it: afterwards would round differently.
    if need_weights:
        attn_weights = F.softmax(_scores(q * math.sqrt(1.0 / q.size(-1)), k, mask), -1)
        if dropout_p > 0.0:
            attn_weights = F.dropout(attn_weights, dropout_p)
        y = facula.matmul(attn_weights, v)
    else:
        y = F.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    n_batch, _, length, _ = y.shape
    y = y.permute(2, 0, 1, 3).reshape(length * n_batch, embed_dim_to_check)
    y = F.linear(y, out_proj_weight, out_proj_bias).view(length, n_batch, -1)
    if attn_weights is not None and average_attn_weights:
        attn_weights = attn_weights.mean(dim=1)
    if not is_batched:
        y = y.squeeze(1)
        attn_weights = None if attn_weights is None else attn_weights.squeeze(0)
    return y, attn_weights


def _mha_shape_check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether the inputs have a batch dimension."""
    n = query.dim()
    if n not in (2, 3):
        raise AssertionError(
            "multi_head_attention_forward: expected a query (L, E), or (L, N, E) for a batch, got "
            f"{tuple(query.shape)}."
        )
    kind = f"{'batched' if n == 3 else 'unbatched'} ({n}-D) query"
    if key.dim() != n or value.dim() != n:
        raise AssertionError(
            f"multi_head_attention_forward: {kind} goes with a key and a value of {n} dimensions, "
            f"got {tuple(key.shape)} and {tuple(value.shape)}."
        )
    if key_padding_mask is not None and key_padding_mask.dim() != n - 1:
        raise AssertionError(
            f"multi_head_attention_forward: {kind} goes with a key_padding_mask of {n - 1} "
            f"dimensions, got {tuple(key_padding_mask.shape)}."
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"multi_head_attention_forward: {kind} goes with an attn_mask of 2 or 3 dimensions, "
            f"got {tuple(attn_mask.shape)}."
        )
    if n == 2 and attn_mask is not None and attn_mask.dim() == 3:
        expected = (num_heads, query.size(0), key.size(0))
        if tuple(attn_mask.shape) != expected:
            raise AssertionError(
                f"multi_head_attention_forward: expected an attn_mask {expected}, got "
                f"{tuple(attn_mask.shape)}."
            )
    return n == 3


def _check_features(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_heads: int,
    has_separate_weights: bool,
) -> None:
    name = "multi_head_attention_forward"
    if query.size(-1) != embed_dim:
        raise AssertionError(
            f"{name}: expected a query of {embed_dim} features (its last dimension), got "
            f"{tuple(query.shape)}."
        )
    if num_heads <= 0 or embed_dim % num_heads != 0:
        raise AssertionError(
            f"{name}: expected a number of heads that divides embed_dim={embed_dim}, got "
            f"{num_heads}."
        )
    n = query.dim() - 1 if has_separate_weights else query.dim()
    if key.shape[:n] != value.shape[:n]:
        raise AssertionError(
            f"{name}: expected a key and a value of one length and batch, got {tuple(key.shape)} "
            f"and {tuple(value.shape)}."
        )
    if query.dim() == 3 and key.size(1) != query.size(1):
        raise RuntimeError(
            f"{name}: expected query and key of one batch size (dimension 1), got "
            f"{tuple(query.shape)} and {tuple(key.shape)}."
        )


# This and the two around it have PyTorch's names: layers derived from MultiheadAttention call them.
def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: facula.dtype | None,
    other_name: str,
    target_type: facula.dtype,
    check_other: bool = True,
) -> Tensor | None:
    """The numbers to add for a mask, which may come with another one of ``other_type``."""
    if mask is None:
        return None
    if mask.dtype != facula.bool and not mask.is_floating_point():
        raise AssertionError(
            f"multi_head_attention_forward: expected {mask_name} as bool or a floating-point "
            f"dtype, got {mask.dtype}."
        )
    if check_other and other_type is not None and mask.dtype != other_type:
        warn_user(
            f"mismatched dtypes of {mask_name} and {other_name} are deprecated: {mask.dtype} and "
            f"{other_type}. Use the same for both.",
        )
    if mask.dtype == facula.bool:
        zeros = facula.zeros(mask.shape, dtype=target_type, device=mask.device)
        return zeros.masked_fill(mask, -math.inf)
    return mask


def _none_or_dtype(input: Tensor | None) -> facula.dtype | None:
    """The dtype of a mask, if there is one."""
    return None if input is None else input.dtype


def _pairs_mask(mask: Tensor, query: Tensor, key: Tensor, num_heads: int) -> Tensor:
    """The mask of pairs of query and key as it broadcasts to ``(N, heads, L, S)``."""
    n_batch = query.size(1) if query.dim() == 3 else 1
    expected: tuple[int, ...] = (query.size(0), key.size(0))
    if mask.dim() == 3:
        expected = (n_batch * num_heads, *expected)
    if tuple(mask.shape) != expected:
        raise RuntimeError(
            f"multi_head_attention_forward: expected an attn_mask {expected}, got "
            f"{tuple(mask.shape)}."
        )
    return mask if mask.dim() == 2 else mask.reshape(n_batch, num_heads, *expected[1:])


def _padding_mask(mask: Tensor, n_keys: int) -> Tensor:
    if mask.size(-1) != n_keys:
        raise AssertionError(
            "multi_head_attention_forward: expected in key_padding_mask a number for each of the "
            f"{n_keys} keys, got {tuple(mask.shape)}."
        )
    return mask.reshape(-1, 1, 1, n_keys)


def _see_added_keys(mask: Tensor, n_keys: int) -> Tensor:
    n_added = n_keys - mask.size(-1)
    return F.pad(mask, (0, n_added)) if n_added > 0 else mask


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor | None, b: Tensor | None = None
) -> tuple[Tensor, ...]:
    """Project query, key and value by the parts of one weight, equal inputs in one product."""
    if w is None:
        raise AssertionError(
            "multi_head_attention_forward: in_proj_weight is missing. Give it, or pass "
            "use_separate_proj_weight=True and three weights."
        )
    if q is k and k is v:
        return tuple(F.linear(q, w, b).chunk(3, -1))
    n = q.size(-1)
    sizes = (n, 2 * n) if k is v else (n, n, n)
    weights = w.split(sizes)
    biases = (None,) * len(sizes) if b is None else b.split(sizes)
    inputs = (q, k, v)[: len(sizes)]
    parts = [F.linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]
    return (parts[0], *parts[1].chunk(2, -1)) if k is v else tuple(parts)


def _in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Tensor | None,
    w_k: Tensor | None,
    w_v: Tensor | None,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Project query, key and value by a weight for each."""
    projected = []
    for letter, x, weight, bias in ("q", q, w_q, b_q), ("k", k, w_k, b_k), ("v", v, w_v, b_v):
        if weight is None:
            raise AssertionError(
                f"multi_head_attention_forward: {letter}_proj_weight is missing, which "
                "use_separate_proj_weight=True needs."
            )
        projected.append(F.linear(x, weight, bias))
    return tuple(projected)


def _split_heads(x: Tensor, num_heads: int) -> Tensor:
    """``(L, N, E)`` or ``(L, E)`` as ``(N, heads, L, E / heads)``."""
    heads = x.unflatten(-1, (num_heads, -1))
    return heads.permute(1, 2, 0, 3) if x.dim() == 3 else heads.transpose(0, 1).unsqueeze(0)


def _scores(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """The products of queries and keys plus the mask, rounded only once."""
    shape = (*q.shape[:-1], k.size(-2))
    if mask is None:
        return facula.matmul(q, k.transpose(-2, -1))
    added = mask.expand(shape).flatten(0, 1)
    return facula.baddbmm(added, q.flatten(0, 1), k.flatten(0, 1).transpose(-2, -1)).view(shape)


def _checked_static(name: str, x: Tensor, q: Tensor) -> Tensor:
    n_batch, num_heads, _, width = q.shape
    for dim, expected in ((0, n_batch * num_heads), (2, width)):
        if x.size(dim) != expected:
            raise AssertionError(
                f"multi_head_attention_forward: expected {name} of size {expected} in dimension "
                f"{dim}, got {tuple(x.shape)}."
            )
    return x.reshape(n_batch, num_heads, x.size(1), width)


def _append(x: Tensor, bias: Tensor | None, name: str) -> Tensor:
    """Add one key or value to all sequences."""
    if bias is None:
        raise AssertionError(
            f"multi_head_attention_forward: bias_k and bias_v belong together, but {name} is None."
        )
    n_batch, num_heads, _, width = x.shape
    row = bias.reshape(1, num_heads, 1, width).expand(n_batch, -1, -1, -1)
    return facula.cat([x, row], dim=2)
