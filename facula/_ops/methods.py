"""The methods of ``Tensor`` that are written in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from facula import _ops
from facula._core import Tensor
from facula._ops.comparing import float_power_
from facula._ops.creation import new_empty_strided

FUNCTIONS = (
    "addr",
    "allclose",
    "bincount",
    "corrcoef",
    "count_nonzero",
    "cov",
    "cross",
    "diag_embed",
    "diagflat",
    "diff",
    "dist",
    "dsplit",
    "float_power",
    "fliplr",
    "flipud",
    "frexp",
    "histc",
    "histogram",
    "hsplit",
    "inner",
    "isclose",
    "kron",
    "matrix_power",
    "nanmean",
    "ravel",
    "renorm",
    "repeat_interleave",
    "rot90",
    "swapaxes",
    "swapdims",
    "tensor_split",
    "trace",
    "vdot",
    "vsplit",
)
IN_PLACE = ("addr", "renorm")


def _in_place(name: str, func: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(func)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        # A copy where there is a graph, for which func may save its input.
        result = func(self.clone() if self.requires_grad else self, *args, **kwargs)
        if result.shape != self.shape or result.dtype != self.dtype:
            raise RuntimeError(
                f"{name}: the result is {result.dtype} {tuple(result.shape)} and does not fit in "
                f"place into {self.dtype} {tuple(self.shape)}."
            )
        return self.copy_(result)

    method.__name__ = name
    return method


def _unflatten(self: Tensor, dim: int, sizes: Any, *more: int) -> Tensor:
    """As the function, with the sizes given one by one too."""
    return _ops.unflatten(self, dim, (sizes, *more) if isinstance(sizes, int) else sizes)


def _transpose_in_place(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions in place; another name of ``transpose_``."""
    return self.transpose_(dim0, dim1)


def fill_diagonal_(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Writes a value to the main diagonal, in place.

    Args:
        fill_value: what to write.
        wrap: of a matrix with more rows than columns: go on below, after one row left out.

    Example:
        >>> facula.zeros(2, 3).fill_diagonal_(1)
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"fill_diagonal_: expected 2 or more dimensions, got {tuple(input.shape)}."
        )
    if input.dim() > 2 and len(set(input.shape)) > 1:
        raise RuntimeError(
            "fill_diagonal_: expected more than 2 dimensions to be of one length, "
            f"got {tuple(input.shape)}."
        )
    step = sum(input.stride())
    input.as_strided((min(input.shape),), (step,), input.storage_offset()).fill_(fill_value)
    n_columns = input.size(1)
    if wrap and input.dim() == 2 and input.size(0) > n_columns + 1:
        fill_diagonal_(input[n_columns + 1 :], fill_value, wrap)
    return input


METHODS: dict[str, Callable[..., Any]] = {
    **{name: getattr(_ops, name) for name in FUNCTIONS},
    **{name + "_": _in_place(name + "_", getattr(_ops, name)) for name in IN_PLACE},
    "new_empty_strided": new_empty_strided,
    "fill_diagonal_": fill_diagonal_,
    "float_power_": float_power_,
    "unflatten": _unflatten,
    "swapaxes_": _transpose_in_place,
    "swapdims_": _transpose_in_place,
}
