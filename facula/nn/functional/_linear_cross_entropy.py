"""A linear layer and the cross entropy of its logits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from facula import _core
from facula._core import Tensor
from facula.nn import functional as F
from facula.nn._reduction import get_enum
from facula.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from facula.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions

__all__ = ["linear_cross_entropy"]


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    Args:
        input: the features that the linear layer takes.
        linear_weight: the weight of the linear layer: a row for each class, or a block of rows for
            targets of more dimensions.
        target: the class indices or probabilities, as :func:`cross_entropy` takes them.
        linear_bias: the bias of the linear layer, of the shape of ``linear_weight`` without its
            last dimension.
        weight: the weight of each class.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        ignore_index: the class index that marks targets without a loss; -100 by default.
        label_smoothing: how much of the target is spread evenly over all classes, from 0 to 1.
        options: how the batch is divided into pieces; ``None`` computes all logits at once.

    Shape:
        input ``(D,)`` or ``(N, D)``, linear_weight ``(C, D)`` or, for ``(N, D)``, ``(C, *, D)``;
        target as for logits ``(C,)`` or ``(N, C, *)``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.linear_cross_entropy(facula.ones(1, 2), facula.eye(2), facula.tensor([0]))
        tensor(0.6931)
    """
    sizes = linear_weight.shape[:-1]
    if input.dim() not in ((1, 2) if len(sizes) == 1 else (2,)) or not sizes:
        raise RuntimeError(
            "linear_cross_entropy: expected an input (N, in_features) and a linear_weight of two "
            "or more dimensions, or an input (in_features,) and one of two, got "
            f"{tuple(input.shape)} and {tuple(linear_weight.shape)}."
        )
    rows = linear_weight.reshape(math.prod(sizes), linear_weight.size(-1))
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    ignored = -100 if ignore_index is None else ignore_index

    def loss_of(input: Tensor, target: Tensor, reduction: str) -> Tensor:
        logits = _core._linear(input, rows, bias)
        if len(sizes) > 1:
            logits = logits.reshape(input.size(0), *sizes)
        return F.cross_entropy(
            logits,
            target,
            weight,
            ignore_index=ignored,
            reduction=reduction,
            label_smoothing=label_smoothing,
        )

    if options is None or input.dim() == 1 or target.dim() == 0 or input.size(0) == 0:
        return loss_of(input, target, reduction)
    get_enum(reduction)
    n_rows = options.n_rows(input.size(0), input.size(1), rows.size(0))
    # The mean is made of sums at the end: the pieces have different weights.
    each = "none" if reduction == "none" else "sum"
    pieces = zip(input.split(n_rows), target.split(n_rows), strict=True)
    losses = [checkpoint(loss_of, x, t, each, use_reentrant=False) for x, t in pieces]
    if reduction == "none":
        return _core.cat(losses)
    total: Tensor = _core.stack(losses).sum()
    return (
        total / _total_weight(target, sizes[0], weight, ignored) if reduction == "mean" else total
    )


def _total_weight(
    target: Tensor, n_classes: int, weight: Tensor | None, ignored: int
) -> Tensor | float:
    """What the sum of cross entropies is divided by to get their mean."""
    if target.is_floating_point():
        return target.numel() / n_classes
    is_kept = target != ignored
    if weight is None:
        return is_kept.sum()
    return weight[target.masked_fill(~is_kept, 0)].masked_fill(~is_kept, 0).sum()
