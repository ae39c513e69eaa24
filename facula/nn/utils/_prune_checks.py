"""How much of a tensor is to be pruned, and checks of it."""

from __future__ import annotations

import numbers
from typing import Any

from facula._core import Tensor


def check_amount(amount: Any) -> None:
    """Refuse what is neither a fraction nor a count."""
    is_number = isinstance(amount, numbers.Real)
    if not is_number:
        raise TypeError(
            "prune: expected amount as a fraction (float) or a count (int), got "
            f"{type(amount).__name__}."
        )
    if amount < 0 or (amount > 1 and not isinstance(amount, numbers.Integral)):
        raise ValueError(
            "prune: expected amount as a fraction from 0 to 1 or a count of at least 0, got "
            f"{amount}."
        )


def n_pruned_of(amount: float, size: int) -> int:
    """How many of ``size`` are to be pruned."""
    if not isinstance(amount, numbers.Integral):
        return round(amount * size)
    if amount > size:
        raise ValueError(
            f"prune: expected to prune at most the {size} entries there are, got {amount}."
        )
    return int(amount)


def check_slices(t: Tensor, dim: int) -> None:
    """Refuse a tensor that has no slices along ``dim`` to prune."""
    if t.dim() <= 1:
        raise ValueError(
            "prune: expected a tensor of at least 2 dimensions to prune slices of, got "
            f"{tuple(t.shape)}."
        )
    if not -t.dim() <= dim < t.dim():
        raise IndexError(
            f"prune: expected dim from {-t.dim()} to {t.dim() - 1} for a tensor {tuple(t.shape)}, "
            f"got {dim}."
        )
