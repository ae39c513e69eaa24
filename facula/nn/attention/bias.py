"""Causal masks that are not made until they must be."""

from __future__ import annotations

import enum
from typing import Any

from facula import _core
from facula._core import Tensor
from facula.nn import functional as F

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Which corner the diagonal of a causal mask begins or ends in.

    With as many queries as keys both are the same. With fewer queries, ``UPPER_LEFT`` lets the
    first query see the first key alone, and ``LOWER_RIGHT`` lets the last query see all keys.
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask for ``scaled_dot_product_attention``, which is told of it without the mask.

    Args:
        variant: the corner of its diagonal.
        seq_len_q: the number of queries.
        seq_len_kv: the number of keys.

    Example:
        >>> from facula.nn.attention.bias import causal_lower_right
        >>> x, y = facula.ones(1, 1, 2, 4), facula.ones(1, 1, 3, 4)
        >>> bias = causal_lower_right(2, 3)
        >>> facula.nn.functional.scaled_dot_product_attention(x, y, y, attn_mask=bias).shape
        torch.Size([1, 1, 2, 4])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"CausalBias: expected a CausalVariant, got {variant!r}.")
        self: Any = _core._make_subclass(cls, _core.empty(0), False)
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        return self  # type: ignore[no-any-return]

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        pass

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask itself, True where a query sees a key."""
        offset = 0
        if self.variant is CausalVariant.LOWER_RIGHT:
            offset = self.seq_len_kv - self.seq_len_q
        ones = _core.ones((self.seq_len_q, self.seq_len_kv), dtype=_core.bool, device=device)
        return _core.tril(ones, diagonal=offset)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is not F.scaled_dot_product_attention:
            return super().__torch_function__(func, types, args, kwargs)
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
        named = dict(zip(names, args, strict=False), **kwargs)
        if named.get("is_causal"):
            raise ValueError("scaled_dot_product_attention: a CausalBias needs no is_causal.")
        bias = named.pop("attn_mask")
        if bias.variant is CausalVariant.UPPER_LEFT or bias.seq_len_q == bias.seq_len_kv:
            return F.scaled_dot_product_attention(**{**named, "is_causal": True})
        mask = bias._materialize(named["query"].device)
        return F.scaled_dot_product_attention(**named, attn_mask=mask)

    def __repr__(self) -> str:  # type: ignore[override]
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """A causal mask whose diagonal begins in the upper left corner.

    Args:
        size: the numbers of queries and keys.

    Example:
        >>> facula.nn.attention.bias.causal_upper_left(2, 3)
        tensor([[ True, False, False],
                [ True,  True, False]])
    """
    n_q, n_kv = _pair("causal_upper_left", size)
    return CausalBias(CausalVariant.UPPER_LEFT, n_q, n_kv)


def causal_lower_right(*size: int) -> CausalBias:
    """A causal mask whose diagonal ends in the lower right corner.

    Args:
        size: the numbers of queries and keys.

    Example:
        >>> facula.nn.attention.bias.causal_lower_right(2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
    """
    n_q, n_kv = _pair("causal_lower_right", size)
    return CausalBias(CausalVariant.LOWER_RIGHT, n_q, n_kv)


def _pair(name: str, size: tuple[int, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise AssertionError(f"{name}: expected the numbers of queries and keys, got {size}.")
    return size
