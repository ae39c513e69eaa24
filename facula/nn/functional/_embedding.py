"""Rows of a table by index, and indices as rows."""

from __future__ import annotations

import facula
from facula import _core
from facula._core import Tensor
from facula._warnings import warn_user

__all__ = ["embedding", "embedding_bag", "one_hot"]


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Class indices as vectors with a single one.

    Args:
        tensor: the class indices, int64, each at least 0.
        num_classes: the length of the vectors; by default one more than the largest index.

    Shape:
        tensor ``(*)``; result ``(*, num_classes)``.

    Example:
        >>> facula.nn.functional.one_hot(facula.tensor([0, 2]))
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    return _core._one_hot(tensor, num_classes)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of a table by index.

    Args:
        input: the indices of the rows, int64 or int32.
        weight: the table to take rows from.
        padding_idx: the index of a row that gets no gradient.
        max_norm: the norm to which longer rows are scaled down first, in the table itself.
        norm_type: the order p of the norm that ``max_norm`` bounds.
        scale_grad_by_freq: whether gradients are divided by the number of times that their row was
            asked for.
        sparse: whether the gradient of the table is a sparse tensor, of the rows that were asked
            for; see ``optim.SparseAdam``.

    Shape:
        input ``(*)``, weight ``(V, D)``; result ``(*, D)``.

    Example:
        >>> table = facula.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> facula.nn.functional.embedding(facula.tensor([1, 1]), table)
        tensor([[3., 4.],
                [3., 4.]])
    """
    if padding_idx is not None:
        padding_idx = _row_of("embedding", padding_idx, weight.size(0))
    # Detached, since the table itself is changed, and not as a step that is differentiated.
    if max_norm is not None:
        facula.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    row = -1 if padding_idx is None else padding_idx
    return _core.embedding(weight, input, row, scale_grad_by_freq, sparse)


def _row_of(name: str, padding_idx: int, n_rows: int) -> int:
    if not -n_rows <= padding_idx < n_rows:
        raise AssertionError(
            f"{name}: expected padding_idx from {-n_rows} to {n_rows - 1}, a row of the weight, "
            f"got {padding_idx}."
        )
    return padding_idx % n_rows


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of rows of a table, for bags of indices.

    Args:
        input: the indices of the rows: a bag in each row, or all bags one after the other.
        weight: the table to take rows from.
        offsets: where each bag begins, for an input of one dimension.
        max_norm: the norm to which longer rows are scaled down first, in the table itself.
        norm_type: the order p of the norm that ``max_norm`` bounds.
        scale_grad_by_freq: whether gradients are divided by the number of times that their row was
            asked for.
        mode: what is made of the rows of a bag: their ``"sum"``, ``"mean"`` or ``"max"``.
        sparse: whether the gradient of the table is a sparse tensor, of the rows that were asked
            for; see ``optim.SparseAdam``.
        per_sample_weights: what the row of each index is multiplied by, for sums only.
        include_last_offset: whether the last offset is where the last bag ends.
        padding_idx: the index of a row that bags leave out.

    Shape:
        input ``(B, N)``, or ``(N,)`` with offsets ``(B,)``; weight ``(V, D)``; result ``(B, D)``.

    Example:
        >>> table = facula.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> facula.nn.functional.embedding_bag(facula.tensor([[0, 1], [1, 1]]), table)
        tensor([[2., 3.],
                [3., 4.]])
    """
    if weight.dtype == facula.int64 and input.is_floating_point():
        warn_user(
            "embedding_bag: expected the arguments input, weight, got weight, input; this order "
            "is deprecated.",
        )
        input, weight = weight, input
    if mode not in tuple(_MODES):
        raise ValueError(f"embedding_bag: expected mode 'sum', 'mean' or 'max', got {mode!r}.")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError(
            "embedding_bag: scale_grad_by_freq=True is for the modes 'sum' and 'mean' only."
        )
    if mode == "max" and sparse:
        raise ValueError("embedding_bag: sparse=True is for the modes 'sum' and 'mean' only.")
    if per_sample_weights is not None:
        if per_sample_weights.shape != input.shape:
            raise ValueError(
                "embedding_bag: expected per_sample_weights of the shape of the input "
                f"{tuple(input.shape)}, got {tuple(per_sample_weights.shape)}."
            )
        if mode != "sum":
            raise NotImplementedError(
                f"embedding_bag: per_sample_weights is for mode 'sum' only, got mode={mode!r}."
            )
    include_last_offset = include_last_offset and input.dim() == 1  # rows have their own ends
    input, offsets, per_sample_weights = _as_one_bag_after_another(
        input, offsets, per_sample_weights
    )
    if max_norm is not None:
        facula.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    result: Tensor = _core.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]
    return result


_MODES = {"sum": 0, "mean": 1, "max": 2}


def _as_one_bag_after_another(
    input: Tensor, offsets: Tensor | None, per_sample_weights: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "embedding_bag: an input of two dimensions has a bag in each row; leave out "
                "offsets."
            )
        n_bags, size = input.shape
        offsets = facula.arange(n_bags, device=input.device) * size
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
        return input.reshape(-1), offsets, per_sample_weights
    if input.dim() != 1:
        raise ValueError(
            f"embedding_bag: expected an input of one or two dimensions, got {tuple(input.shape)}."
        )
    if offsets is None:
        raise ValueError(
            "embedding_bag: a vector of indices needs offsets, the place where each bag begins. "
            "Give them, or a matrix with a bag in each row."
        )
    if offsets.dim() != 1:
        raise ValueError(
            f"embedding_bag: expected offsets of 1 dimension, got {tuple(offsets.shape)}."
        )
    return input, offsets, per_sample_weights
