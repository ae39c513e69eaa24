"""Products of groups of matrices, and of matrices with scales."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor

__all__ = ["ScalingType", "SwizzleType", "grouped_mm", "scaled_grouped_mm", "scaled_mm"]


class ScalingType(enum.Enum):
    """How many elements share a scale.

    Example:
        >>> facula.nn.functional.ScalingType.RowWise.name
        'RowWise'
    """

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.Enum):
    """The order of scales in memory.

    Example:
        >>> facula.nn.functional.SwizzleType.NO_SWIZZLE.name
        'NO_SWIZZLE'
    """

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


# The package makes operations of the functions of its files; these are none.
for _kind in (ScalingType, SwizzleType):
    _kind.__module__ = "facula.nn.functional"
del _kind


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: _core.dtype | None = None,
) -> Tensor:
    """Products of pairs of matrices, the rows or columns of which may differ from pair to pair.

    Args:
        mat_a: the first matrices: three dimensions, or two that ``offs`` cuts into groups.
        mat_b: the second matrices: three dimensions, or two that ``offs`` cuts into groups.
        offs: where each group ends, ascending; given if one of the two has two dimensions.
        bias: must be None, as in PyTorch.
        out_dtype: the dtype of the result, by default that of ``mat_a``.

    Shape:
        ``(T, K)`` and ``(G, K, N)`` give ``(T, N)``; ``(G, M, K)`` and ``(K, T)`` give ``(M, T)``;
        ``(M, T)`` and ``(T, N)`` give ``(G, M, N)``; ``(G, M, K)`` and ``(G, K, N)`` give
        ``(G, M, N)``.

    Example:
        >>> tokens, experts = facula.ones(5, 2), facula.ones(2, 2, 3)
        >>> offs = facula.tensor([2, 5], dtype=facula.int32)
        >>> facula.nn.functional.grouped_mm(tokens, experts, offs=offs).shape
        torch.Size([5, 3])
    """
    if bias is not None:
        raise RuntimeError("grouped_mm: bias is not supported yet; add it to the result.")
    for name, mat in (("mat_a", mat_a), ("mat_b", mat_b)):
        if mat.dim() not in (2, 3):
            raise RuntimeError(
                f"grouped_mm: expected {name} of 2 or 3 dimensions, got {tuple(mat.shape)}."
            )
    dtype = out_dtype or mat_a.dtype
    if mat_a.dim() == 3 and mat_b.dim() == 3:
        if offs is not None:
            raise RuntimeError("grouped_mm: offs is given only for matrices of 2 dimensions.")
        return _core.bmm(mat_a, mat_b).to(dtype)
    if offs is None:
        raise RuntimeError("grouped_mm: offs is needed where one of the two has 2 dimensions.")
    if mat_a.dim() == 2 and mat_b.dim() == 2:
        if mat_a.size(1) != mat_b.size(0):
            raise RuntimeError(
                f"grouped_mm: expected as many columns of mat_a as rows of mat_b, got "
                f"{tuple(mat_a.shape)} and {tuple(mat_b.shape)}."
            )
        pieces = _pieces(offs, mat_b.size(0), None)
        products = [(mat_a[:, i:j] @ mat_b[i:j]).unsqueeze(0) for i, j in pieces]
        return _core.cat([mat_a.new_zeros(0, mat_a.size(0), mat_b.size(1)), *products]).to(dtype)
    if mat_a.dim() == 2:
        pieces = _pieces(offs, mat_a.size(0), mat_b)
        parts = [mat_a[i:j] @ mat_b[g] for g, (i, j) in enumerate(pieces)]
        n_rest = mat_a.size(0) - sum(j - i for i, j in pieces)
        return _core.cat([*parts, mat_a.new_zeros(n_rest, mat_b.size(-1))]).to(dtype)
    pieces = _pieces(offs, mat_b.size(1), mat_a)
    parts = [mat_a[g] @ mat_b[:, i:j] for g, (i, j) in enumerate(pieces)]
    n_rest = mat_b.size(1) - sum(j - i for i, j in pieces)
    return _core.cat([*parts, mat_b.new_zeros(mat_a.size(1), n_rest)], 1).to(dtype)


def _pieces(offs: Tensor, size: int, mats: Tensor | None) -> list[tuple[int, int]]:
    """Where each group begins and ends; ``mats`` has a matrix for each, if it is given."""
    if offs.dtype != _core.int32 or offs.dim() != 1:
        raise RuntimeError(
            "grouped_mm: Offsets have to be int32, and offs has to be 1D, got "
            f"{offs.dtype} {tuple(offs.shape)}. Convert them with offs.to(torch.int32)."
        )
    ends: list[int] = offs.tolist()
    if mats is not None and mats.size(0) != len(ends):
        raise RuntimeError(
            f"grouped_mm: offs has {len(ends)} groups, but there are {mats.size(0)} matrices."
        )
    pieces = list(zip([0, *ends], ends, strict=False))
    if any(i > j for i, j in pieces) or (ends and ends[-1] > size):
        raise RuntimeError(
            f"grouped_mm: expected offs that ascend from 0 to {size} at most, got {ends}. Each is "
            "where a group ends."
        )
    return pieces


def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Any,
    scale_recipe_a: Any,
    scale_b: Any,
    scale_recipe_b: Any,
    swizzle_a: Any = None,
    swizzle_b: Any = None,
    bias: Tensor | None = None,
    output_dtype: _core.dtype | None = _core.bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of two matrices whose elements are multiplied by scales first.

    Args:
        mat_a: the first matrix, usually of a float8 type.
        mat_b: the second matrix.
        scale_a: the scale of the first: one number, or one for each row.
        scale_recipe_a: ``ScalingType.TensorWise`` or ``RowWise``.
        scale_b: the scale of the second: one number, or one for each column.
        scale_recipe_b: ``ScalingType.TensorWise`` or ``RowWise``.
        swizzle_a, swizzle_b: must be None or ``SwizzleType.NO_SWIZZLE``.
        bias: added to the result.
        output_dtype: the dtype of the result.
        contraction_dim: must be empty.
        use_fast_accum: accepted for compatibility: sums are in float32.

    Shape:
        mat_a ``(M, K)``, mat_b ``(K, N)``; result ``(M, N)``.

    Example:
        >>> F = facula.nn.functional
        >>> a = facula.ones(2, 4).to(facula.float8_e4m3fn)
        >>> one = facula.tensor(0.5)
        >>> whole = F.ScalingType.TensorWise
        >>> F.scaled_mm(a, a.t(), one, whole, one, whole, output_dtype=facula.float32)
        tensor([[1., 1.],
                [1., 1.]])
    """
    for recipe in (scale_recipe_a, scale_recipe_b):
        if recipe not in (ScalingType.TensorWise, ScalingType.RowWise):
            raise NotImplementedError(
                f"scaled_mm: expected ScalingType.TensorWise or RowWise, got {recipe}."
            )
    if any(s not in (None, SwizzleType.NO_SWIZZLE) for s in (swizzle_a, swizzle_b)):
        raise NotImplementedError("scaled_mm: scales are in their natural order only.")
    if contraction_dim:
        raise NotImplementedError("scaled_mm: contraction_dim must be empty.")
    a = mat_a.to(_core.float32) * _scale(scale_a, scale_recipe_a, (-1, 1))
    b = mat_b.to(_core.float32) * _scale(scale_b, scale_recipe_b, (1, -1))
    result: Tensor = a @ b
    if bias is not None:
        result = result + bias.to(_core.float32)
    return result.to(output_dtype or mat_a.dtype)


def _scale(scale: Any, recipe: ScalingType, shape: tuple[int, int]) -> Tensor:
    one: Tensor = scale[0] if isinstance(scale, (list, tuple)) else scale
    one = one.to(_core.float32)
    return one.reshape(shape) if recipe is ScalingType.RowWise else one.reshape(())


def scaled_grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Any,
    scale_recipe_a: Any,
    scale_b: Any,
    scale_recipe_b: Any,
    swizzle_a: Any = None,
    swizzle_b: Any = None,
    bias: Tensor | None = None,
    offs: Tensor | None = None,
    output_dtype: _core.dtype | None = _core.bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """:func:`grouped_mm` of matrices whose elements are multiplied by scales first.

    Args:
        mat_a: the first matrices.
        mat_b: the second matrices.
        scale_a: the scales of the first, which broadcast to them.
        scale_recipe_a: ``ScalingType.TensorWise`` or ``RowWise``.
        scale_b: the scales of the second, which broadcast to them.
        scale_recipe_b: ``ScalingType.TensorWise`` or ``RowWise``.
        swizzle_a, swizzle_b: must be None or ``SwizzleType.NO_SWIZZLE``.
        bias: added to the result.
        offs: where each group ends, as of :func:`grouped_mm`.
        output_dtype: the dtype of the result.
        contraction_dim: must be empty.
        use_fast_accum: accepted for compatibility.

    Example:
        >>> F = facula.nn.functional
        >>> a, b = facula.ones(4, 2), facula.ones(2, 2, 3)
        >>> rows, columns = facula.full((4,), 2.0), facula.ones(2, 3)
        >>> offs = facula.tensor([1, 4], dtype=facula.int32)
        >>> by_row = F.ScalingType.RowWise
        >>> F.scaled_grouped_mm(a, b, rows, by_row, columns, by_row, offs=offs).shape
        torch.Size([4, 3])
    """
    if any(r is not ScalingType.RowWise for r in (scale_recipe_a, scale_recipe_b)):
        raise NotImplementedError("scaled_grouped_mm: expected ScalingType.RowWise for both.")
    if any(s not in (None, SwizzleType.NO_SWIZZLE) for s in (swizzle_a, swizzle_b)):
        raise NotImplementedError("scaled_grouped_mm: scales are in their natural order only.")
    first = scale_a[0] if isinstance(scale_a, (list, tuple)) else scale_a
    second = scale_b[0] if isinstance(scale_b, (list, tuple)) else scale_b
    a = mat_a.to(_core.float32) * first.to(_core.float32).unsqueeze(-1)
    b = mat_b.to(_core.float32) * second.to(_core.float32).unsqueeze(-2)
    result: Tensor = grouped_mm(a, b, offs=offs)
    if bias is not None:
        result = result + bias
    return result.to(output_dtype or mat_a.dtype)
