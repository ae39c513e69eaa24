"""Attention whose scores a Python function changes, and masks that are known block by block.

The scores of all queries and keys exist at once, as in PyTorch without its compiler; a mask alone
goes the way of :func:`facula.nn.functional.scaled_dot_product_attention`, which keeps none.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple, TypeAlias, TypedDict

from facula import _core
from facula._core import Tensor
from facula._warnings import warn_user
from facula.func import vmap
from facula.nn import functional as F

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_LARGE_SPARSE_BLOCK_SIZE = 1 << 30
_TENSORS = (
    "kv_num_blocks",
    "kv_indices",
    "full_kv_num_blocks",
    "full_kv_indices",
    "q_num_blocks",
    "q_indices",
    "full_q_num_blocks",
    "full_q_indices",
)

_mask_mod_signature: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
_score_mod_signature: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


class AuxRequest(NamedTuple):
    """What :func:`flex_attention` returns besides its result.

    Example:
        >>> from facula.nn.attention.flex_attention import AuxRequest
        >>> AuxRequest(lse=True)
        AuxRequest(lse=True, max_scores=False)
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for with :class:`AuxRequest`."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class FlexKernelOptions(TypedDict, total=False):
    """Settings of PyTorch's compiled kernels, which are accepted and have no effect."""

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    BACKEND: str


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Every query sees every key.

    Args:
        batch: the number of the example.
        head: the number of the head.
        token_q: the place of the query.
        token_kv: the place of the key.
    """
    return batch.new_ones(size=(), dtype=_core.bool)


def and_masks(*mask_mods: _mask_mod_signature) -> _mask_mod_signature:
    """A mask that is true where all masks are.

    Args:
        mask_mods: the masks.

    Example:
        >>> from facula.nn.attention.flex_attention import and_masks, create_mask
        >>> near = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 2)
        >>> create_mask(near, 1, 1, 3, 3, "cpu")[0, 0].int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [0, 1, 1]], dtype=torch.int32)
    """
    _check_functions("and_masks", mask_mods)

    def mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_ones((), dtype=_core.bool)
        for each in mask_mods:
            result = result & each(b, h, q_idx, kv_idx)
        return result

    return mask


def or_masks(*mask_mods: _mask_mod_signature) -> _mask_mod_signature:
    """A mask that is true where one of the masks is.

    Args:
        mask_mods: the masks.

    Example:
        >>> from facula.nn.attention.flex_attention import create_mask, or_masks
        >>> seen = or_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: k < 2)
        >>> create_mask(seen, 1, 1, 3, 3, "cpu")[0, 0].int()
        tensor([[1, 1, 0],
                [1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    _check_functions("or_masks", mask_mods)

    def mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=_core.bool)
        for each in mask_mods:
            result = result | each(b, h, q_idx, kv_idx)
        return result

    return mask


def _check_functions(name: str, functions: tuple[Any, ...]) -> None:
    if not all(callable(function) for function in functions):
        raise RuntimeError(f"{name}: expected functions, got {functions}.")


def _for_all(function: Callable[..., Tensor], *, with_score: bool) -> Callable[..., Tensor]:
    """A function of one score as one of all: over examples, heads, queries and keys."""
    first = (0,) if with_score else ()
    for dims in (
        (None, None, None, 0),
        (None, None, 0, None),
        (None, 0, None, None),
        (0, None, None, None),
    ):
        function = vmap(function, in_dims=(*first, *dims))
    return function


def _indices(sizes: tuple[int, ...], device: Any) -> list[Tensor]:
    return [_core.arange(size, device=device, dtype=_core.int32) for size in sizes]


def create_mask(
    mod_fn: _score_mod_signature | _mask_mod_signature,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
) -> Tensor:
    """The whole mask of a function, as a tensor.

    Args:
        mod_fn: takes the numbers of an example, a head, a query and a key, and says whether the
            query sees the key; or takes a score before them, and leaves it finite.
        B: the number of examples, 1 by default.
        H: the number of heads, 1 by default.
        Q_LEN: the number of queries.
        KV_LEN: the number of keys.
        device: where the mask is made.

    Shape:
        result ``(B, H, Q_LEN, KV_LEN)``, bool.

    Example:
        >>> from facula.nn.attention.flex_attention import create_mask
        >>> create_mask(lambda b, h, q, k: q >= k, None, None, 2, 2, "cpu")
        tensor([[[[ True, False],
                  [ True,  True]]]])
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    places = _indices(sizes, device)
    if _n_parameters(mod_fn) == 5:
        scores = _core.zeros(sizes, device=device)
        result = _for_all(mod_fn, with_score=True)(scores, *places)
        return _core.where(_core.isneginf(result), False, True)
    result = _for_all(mod_fn, with_score=False)(*places)
    return result.expand(sizes).to(_core.bool)


def _n_parameters(function: Callable[..., Any]) -> int:
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    n = sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters)
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return 4
    if n not in (4, 5):
        raise AssertionError(
            f"create_mask: expected a function of 4 numbers, or of a score and 4 numbers, got one "
            f"of {n} arguments."
        )
    return n


class BlockMask:
    """A mask as lists of blocks: for each block of queries, the blocks of keys that it sees.

    Blocks that are seen in part are asked again, key by key, with ``mask_mod``; those that are seen
    whole need no question.

    Args:
        seq_lengths: the numbers of queries and keys.
        kv_num_blocks: how many blocks of keys each block of queries sees in part.
        kv_indices: which blocks of keys are seen in part.
        full_kv_num_blocks: how many blocks of keys each block of queries sees whole.
        full_kv_indices: which blocks of keys are seen whole.
        q_num_blocks: how many blocks of queries see each block of keys in part.
        q_indices: which blocks of queries see it in part.
        full_q_num_blocks: how many blocks of queries see each block of keys whole.
        full_q_indices: which blocks of queries see it whole.
        BLOCK_SIZE: the numbers of queries and keys in a block.
        mask_mod: says whether a query sees a key.
        dq_write_order, dq_write_order_full, dq_kv_order, dq_kv_order_spt: accepted for
            compatibility.

    Shape:
        numbers ``(B, H, n)``, indices ``(B, H, n, m)``, int32.
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod: _mask_mod_signature = noop_mask,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | None = None,
        dq_kv_order_spt: bool | None = None,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError(
                f"BlockMask: expected kv_indices of at least 2 dimensions, got {kv_indices.dim()}."
            )
        for name, a, b in (
            ("full_kv", full_kv_num_blocks, full_kv_indices),
            ("q", q_num_blocks, q_indices),
            ("full_q", full_q_num_blocks, full_q_indices),
        ):
            if (a is None) != (b is None):
                raise AssertionError(
                    f"BlockMask: {name}_num_blocks and {name}_indices are given together."
                )
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE, self.mask_mod = BLOCK_SIZE, mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: _mask_mod_signature | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask from what each block of queries sees; the other direction is computed.

        Args:
            kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices: as of the class.
            BLOCK_SIZE: the numbers of queries and keys in a block, or one for both.
            mask_mod: says whether a query sees a key, by default always.
            seq_lengths: the numbers of queries and keys, by default those of whole blocks.
            compute_q_blocks: whether the other direction is computed.
        """
        sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        q: tuple[Tensor | None, Tensor | None] = (None, None)
        full_q: tuple[Tensor | None, Tensor | None] = (None, None)
        if compute_q_blocks:
            q = _ordered(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                full_q = _ordered(_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        if seq_lengths is None:
            n_q, n_kv = kv_indices.shape[-2:]
            seq_lengths = (n_q * sizes[0], n_kv * sizes[1])
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            *q,
            *full_q,
            sizes,
            mask_mod or noop_mask,
        )

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """The arguments of the class, in order.

        Args:
            flatten: whether pairs of numbers are taken apart.
        """
        tensors = tuple(getattr(self, name) for name in _TENSORS)
        if flatten:
            return *self.seq_lengths, *tensors, *self.BLOCK_SIZE, self.mask_mod
        return self.seq_lengths, *tensors, self.BLOCK_SIZE, self.mask_mod

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole mask: examples, heads, queries, keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many pairs of a query and a key there are."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """How many percent of the pairs are in no block."""
        n_blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            n_blocks += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - n_blocks * math.prod(self.BLOCK_SIZE) / self.numel())

    def to_dense(self) -> Tensor:
        """For each block of queries and of keys, 1 if it is seen whole or in part.

        Shape:
            result ``(B, H, n, m)``, int32.
        """
        dense = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            dense = dense | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return dense

    def to(self, device: Any) -> BlockMask:
        """The mask on a device.

        Args:
            device: the device.
        """
        return self._with(lambda tensor: tensor.to(device))

    def _with(self, change: Callable[[Tensor], Tensor]) -> BlockMask:
        tensors = {name: getattr(self, name) for name in _TENSORS}
        changed: dict[str, Any] = {
            name: None if tensor is None else change(tensor) for name, tensor in tensors.items()
        }
        return BlockMask(
            self.seq_lengths, **changed, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod
        )

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The mask of fewer queries and keys."""
        n_q = math.ceil(new_q_len / self.BLOCK_SIZE[0])
        n_kv = math.ceil(new_kv_len / self.BLOCK_SIZE[1])

        def cut(counts: Any, indices: Any) -> Any:
            if counts is None:
                return None, None
            return _ordered(_dense(counts, indices)[..., :n_q, :n_kv])

        counts, indices = cut(self.kv_num_blocks, self.kv_indices)
        full_counts, full_indices = cut(self.full_kv_num_blocks, self.full_kv_indices)
        lengths = (new_q_len, new_kv_len)
        return BlockMask.from_kv_blocks(
            counts, indices, full_counts, full_indices, self.BLOCK_SIZE, self.mask_mod, lengths
        )

    def __getitem__(self, index: Any) -> BlockMask:
        """A part of the mask, by examples, heads and blocks of queries; set its ``mask_mod``."""
        parts = index if isinstance(index, tuple) else (index,)
        parts = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in parts)

        def part(tensor: Tensor | None) -> Any:
            return None if tensor is None else tensor[parts]

        counts = part(self.kv_num_blocks)
        n_q = counts.shape[-1] * self.BLOCK_SIZE[0]
        is_whole = counts.shape[-1] == self.kv_num_blocks.shape[-1]
        return BlockMask.from_kv_blocks(
            counts,
            part(self.kv_indices),
            part(self.full_kv_num_blocks),
            part(self.full_kv_indices),
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=None,
            seq_lengths=self.seq_lengths if is_whole else (n_q, self.seq_lengths[1]),
            compute_q_blocks=self.q_indices is not None,
        )

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of the blocks, for each example and head.

        Args:
            grid_size: how many lines and columns the picture has at most; -1 for all.
            limit: how many pictures there are at most.
        """
        dense = self.to_dense()
        rows, columns = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        places = dense.flatten(0, -3) if dense.dim() > 2 else dense[None]
        batch = dense.shape[:-2]
        texts = []
        for i, where in zip(
            range(min(len(places), limit)), product(*map(range, batch)), strict=False
        ):
            picture = places[i]
            for dim, size in ((0, rows), (1, columns)):
                step = 1 if size < 0 else max(1, math.ceil(picture.shape[dim] / size))
                pieces = picture.split(step, dim)
                picture = _core.stack([piece.amax(dim) for piece in pieces], dim)
            lines = ["".join("██" if seen else "  " for seen in row) for row in picture.tolist()]
            texts.append("\n".join([str(where), *lines]))
        if len(places) > limit:
            texts.append("...")
        return "\n\n".join(texts) + "\n"

    def __repr__(self) -> str:
        head = f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, "
        return head + "\n" + self.to_string() + ")"


def _dense(counts: Tensor, indices: Tensor) -> Tensor:
    """1 where a list names a block, as int32."""
    n = indices.shape[-1]
    is_listed = _core.arange(n, device=indices.device) < counts.unsqueeze(-1)
    # What comes after the listed ones goes to a column of its own, which is cut off.
    column = _core.where(is_listed, indices.long(), n)
    dense = _core.zeros((*indices.shape[:-1], n + 1), dtype=_core.int32, device=indices.device)
    return dense.scatter_(-1, column, 1)[..., :n]


def _ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks a row names, and which: those first, both in ascending order."""
    dense = dense.to(_core.int32)
    counts = dense.sum(-1)
    indices = _core.argsort(dense, dim=-1, descending=True, stable=True)
    return counts.to(_core.int32), indices.to(_core.int32).contiguous()


def create_block_mask(
    mask_mod: _mask_mod_signature,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """The mask of a function, as lists of blocks.

    Args:
        mask_mod: takes the numbers of an example, a head, a query and a key, and says whether the
            query sees the key.
        B: the number of examples, 1 for a mask that does not depend on them.
        H: the number of heads, 1 for a mask that does not depend on them.
        Q_LEN: the number of queries.
        KV_LEN: the number of keys.
        device: where the mask is made.
        BLOCK_SIZE: the numbers of queries and keys in a block, or one for both.
        separate_full_blocks: whether blocks that are seen whole have a list of their own.
        compute_dq_write_order, dq_kv_order: accepted for compatibility.

    Example:
        >>> from facula.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256, "cpu").sparsity()
        25.0
    """
    if isinstance(BLOCK_SIZE, int) and BLOCK_SIZE <= 0:
        raise ValueError(f"create_block_mask: expected a positive BLOCK_SIZE, got {BLOCK_SIZE}.")
    sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    mask = F.pad(mask, (0, -KV_LEN % sizes[1], 0, -Q_LEN % sizes[0]))
    counted = mask.unflatten(-1, (-1, sizes[1])).unflatten(-3, (-1, sizes[0])).sum((-3, -1))
    is_full = counted == sizes[0] * sizes[1]
    if not separate_full_blocks:
        is_full = _core.zeros_like(is_full)
    counts, indices = _ordered((counted > 0) & ~is_full)
    full_counts, full_indices = _ordered(is_full) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(
        counts, indices, full_counts, full_indices, sizes, mask_mod, (Q_LEN, KV_LEN)
    )


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _score_mod_signature | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention with scores that a function changes, and a mask of blocks.

    Args:
        query: what is asked.
        key: what it is compared with.
        value: what is averaged.
        score_mod: takes one score and the numbers of its example, head, query and key, and returns
            the score that is used.
        block_mask: which queries see which keys.
        scale: the factor of the scores, ``1 / sqrt(E)`` by default.
        enable_gqa: whether there may be more heads of queries than of keys.
        return_lse: whether the logarithm of the sum of exponentials is returned too; an older form
            of ``return_aux``.
        kernel_options: accepted for compatibility.
        return_aux: what is returned besides the result.

    Shape:
        query ``(B, Hq, L, E)``, key ``(B, H, S, E)``, value ``(B, H, S, Ev)``; result
        ``(B, Hq, L, Ev)``, logarithms ``(B, Hq, L)``.

    Example:
        >>> from facula.nn.attention.flex_attention import flex_attention
        >>> x = facula.ones(1, 2, 4, 8)
        >>> def alibi(score, b, h, q, k):
        ...     return score - (q - k) * 2.0 ** -h
        >>> flex_attention(x, x, x, score_mod=alibi).shape
        torch.Size([1, 2, 4, 8])
    """
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse:
        warn_user(
            "flex_attention: return_lse is deprecated. Use return_aux=AuxRequest(lse=True).",
            FutureWarning,
        )
        if return_aux is not None:
            raise ValueError("flex_attention: return_lse and return_aux exclude each other.")
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    wants = AuxRequest(lse=True) if return_lse else return_aux or AuxRequest()
    if score_mod is None and not any(wants):
        mask = None if block_mask is None else _mask_of(block_mask, query, key)
        result = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=scale, enable_gqa=enable_gqa
        )
        return (result, AuxOutput()) if return_aux is not None else result
    result, lse, largest = _composed(query, key, value, score_mod, block_mask, scale)
    if return_lse:
        return result, lse
    if return_aux is None:
        return result
    return result, AuxOutput(lse if wants.lse else None, largest if wants.max_scores else None)


def _check(
    query: Tensor, key: Tensor, value: Tensor, block_mask: BlockMask | None, enable_gqa: bool
) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 4:
            raise NotImplementedError(
                f"flex_attention: expected a {name} of 4 dimensions, got {tuple(tensor.shape)}."
            )
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise ValueError(
            f"flex_attention: expected one dtype, got query {query.dtype}, key {key.dtype} and "
            f"value {value.dtype}."
        )
    if query.device != key.device or query.device != value.device:
        raise ValueError(
            f"flex_attention: expected one device, got query on {query.device}, key on "
            f"{key.device} and value on {value.device}."
        )
    if query.size(-1) != key.size(-1):
        raise ValueError(
            f"flex_attention: query and key must have the same embedding dimension, got "
            f"{query.size(-1)} and {key.size(-1)}."
        )
    n_q, n_kv = query.size(1), key.size(1)
    if n_q != n_kv and not enable_gqa:
        raise ValueError(
            "flex_attention: Expect query and key/value to have the same number of heads but got "
            f"Hq={n_q} and Hkv={n_kv}. Try setting enable_gqa=True for GQA."
        )
    if n_q % n_kv:
        raise ValueError(
            f"flex_attention: expected Hq to be a multiple of Hkv, got Hq={n_q} and Hkv={n_kv}."
        )
    if block_mask is None:
        return
    n_queries, n_keys = block_mask.shape[-2:]
    if (query.size(-2), key.size(-2)) != (n_queries, n_keys):
        raise ValueError(
            f"flex_attention: block_mask was created for block_mask.shape={block_mask.shape} but "
            f"got q_len={query.size(-2)} and kv_len={key.size(-2)}. Create a mask of these lengths."
        )
    for dim, name, size in ((0, "batch size", query.size(0)), (1, "number of heads", n_q)):
        if block_mask.shape[dim] not in (1, size):
            raise ValueError(
                f"flex_attention: expected a block_mask for the {name} {size} or 1, got "
                f"{block_mask.shape[dim]}."
            )


def _mask_of(block_mask: BlockMask, query: Tensor, key: Tensor) -> Tensor:
    sizes = (query.size(0), query.size(1), query.size(2), key.size(2))
    places = _indices(sizes, query.device)
    seen = _for_all(block_mask.mask_mod, with_score=False)(*places)
    return seen.expand(sizes).to(_core.bool)


def _composed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _score_mod_signature | None,
    block_mask: BlockMask | None,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    groups = query.size(1) // key.size(1)
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    precise = _core.float64 if query.dtype == _core.float64 else _core.float32
    scores = (query @ key.transpose(-2, -1)).to(precise) * scale
    if score_mod is not None:
        places = _indices(tuple(scores.shape), query.device)
        scores = _for_all(score_mod, with_score=True)(scores, *places).to(precise)
    if block_mask is not None:
        scores = scores.masked_fill(~_mask_of(block_mask, query, key), -math.inf)
    largest = scores.amax(-1)
    lse = _core.logsumexp(scores, -1)
    # A query that sees no key has a result of zeros, and no NaN in its gradient.
    is_blind = _core.isneginf(largest).unsqueeze(-1)
    weights = _core.softmax(scores.masked_fill(is_blind, 0.0), -1).masked_fill(is_blind, 0.0)
    return weights.to(query.dtype) @ value, lse, largest
