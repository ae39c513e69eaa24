"""Joining and splitting."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._mark import operation
from facula._ops.shapes import atleast_2d, atleast_3d


def _joined(name: str, tensors: Sequence[Tensor], dim: int, out: Tensor | None) -> Tensor:
    if len(tensors) == 0:
        raise RuntimeError(f"{name}: expected at least one tensor.")
    return _core.cat(tuple(tensors), dim, out=out)


@operation
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors side by side: vectors end to end, others along dimension 1.

    Args:
        tensors: the tensors to join.
        out: where to put the result.

    Example:
        >>> facula.hstack((facula.tensor([1, 2]), facula.tensor([3])))
        tensor([1, 2, 3])
    """
    rows = [t.reshape(1) if t.dim() == 0 else t for t in tensors]
    return _joined("hstack", rows, 0 if rows and rows[0].dim() == 1 else 1, out)


@operation
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors on top of each other, along dimension 0; vectors count as rows.

    Args:
        tensors: the tensors to join.
        out: where to put the result.

    Example:
        >>> facula.vstack((facula.tensor([1, 2]), facula.tensor([3, 4])))
        tensor([[1, 2],
                [3, 4]])
    """
    rows = [atleast_2d(t) if t.dim() < 2 else t for t in tensors]
    return _joined("vstack", rows, 0, out)


row_stack = vstack


@operation
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors in depth, along dimension 2.

    Args:
        tensors: the tensors to join.
        out: where to put the result.

    Example:
        >>> facula.dstack((facula.tensor([1, 2]), facula.tensor([3, 4])))
        tensor([[[1, 3],
                 [2, 4]]])
    """
    return _joined("dstack", atleast_3d(tuple(tensors)), 2, out)


@operation
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 1; vectors count as columns.

    Args:
        tensors: the tensors to join.
        out: where to put the result.

    Example:
        >>> facula.column_stack((facula.tensor([1, 2]), facula.tensor([3, 4])))
        tensor([[1, 3],
                [2, 4]])
    """
    columns = [t.reshape(t.numel(), 1) if t.dim() <= 1 else t for t in tensors]
    return _joined("column_stack", columns, 1, out)


@operation(method=True)
def tensor_split(
    input: Tensor, indices_or_sections: int | Sequence[int] | Tensor, dim: int = 0
) -> tuple[Tensor, ...]:
    """Split a tensor into parts, which may differ in size.

    Args:
        input: the tensor to split.
        indices_or_sections: the number of parts, of which the first are larger by one where the
            size does not divide; or the places to cut at.
        dim: the dimension to split.

    Example:
        >>> facula.tensor_split(facula.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
        >>> facula.tensor_split(facula.arange(5), (1, 3))
        (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    return _split(input, indices_or_sections, dim)


def _number_or_list(sections: Any) -> Any:
    if isinstance(sections, Tensor):
        if sections.dtype != _core.int64 or sections.dim() > 1:
            raise RuntimeError(
                f"tensor_split: expected a number or a vector of int64 as indices_or_sections, got "
                f"{sections.dtype} {tuple(sections.shape)}."
            )
        sections = sections.tolist()
    # A number may be one of NumPy's.
    return operator.index(sections) if hasattr(sections, "__index__") else sections


def _split(input: Tensor, sections: Any, dim: int) -> tuple[Tensor, ...]:
    if input.dim() == 0:
        raise RuntimeError("tensor_split: a 0-d tensor cannot be split.")
    size = input.size(dim)
    if not isinstance(sections, int):
        sections = _number_or_list(sections)
    if isinstance(sections, int):
        if sections <= 0:
            raise RuntimeError(
                f"tensor_split: expected a positive number of parts, got {sections}."
            )
        if sections >= 2**32:
            raise RuntimeError(f"tensor_split: {sections} parts are more than memory can hold.")
        small, n_larger = divmod(size, sections)
        start, parts = 0, []
        for i in range(sections):
            length = small + 1 if i < n_larger else small
            parts.append(input.narrow(dim, start, length))
            start += length
        return tuple(parts)
    # A cut is understood as in Python's slices: negative from the end, beyond the end at it.
    cuts = [slice(cut).indices(size)[1] for cut in sections]
    bounds = itertools.pairwise([0, *cuts, size])
    return tuple([input.narrow(dim, start, max(stop - start, 0)) for start, stop in bounds])


def _even_split(
    name: str, input: Tensor, sections: Any, dim: int, min_dims: int
) -> tuple[Tensor, ...]:
    if input.dim() < min_dims:
        raise RuntimeError(
            f"{name}: expected at least {min_dims} dimensions, got shape {tuple(input.shape)}."
        )
    if isinstance(sections, int) and (sections <= 0 or input.size(dim) % sections != 0):
        raise RuntimeError(
            f"{name}: dimension {dim} of {tuple(input.shape)} does not divide into {sections} "
            "parts of equal size."
        )
    return _split(input, sections, dim)


@operation(method=True)
def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split a tensor along dimension 1, or a vector along its only one.

    Args:
        input: the tensor to split.
        indices_or_sections: the number of parts, all of one size, or the places to cut at.

    Example:
        >>> facula.hsplit(facula.tensor([[1, 2], [3, 4]]), 2)[0]
        tensor([[1],
                [3]])
    """
    return _even_split("hsplit", input, indices_or_sections, 0 if input.dim() == 1 else 1, 1)


@operation(method=True)
def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split a tensor of two or more dimensions along dimension 0.

    Args:
        input: the tensor to split.
        indices_or_sections: the number of parts, all of one size, or the places to cut at.

    Example:
        >>> facula.vsplit(facula.tensor([[1, 2], [3, 4]]), 2)[0]
        tensor([[1, 2]])
    """
    return _even_split("vsplit", input, indices_or_sections, 0, 2)


@operation(method=True)
def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Split a tensor of three or more dimensions along dimension 2.

    Args:
        input: the tensor to split.
        indices_or_sections: the number of parts, all of one size, or the places to cut at.

    Example:
        >>> facula.dsplit(facula.ones(1, 2, 4), 2)[0].shape
        torch.Size([1, 2, 2])
    """
    return _even_split("dsplit", input, indices_or_sections, 2, 3)
