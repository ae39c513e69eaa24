"""Reductions and normalisations that pass over elements where a mask is False.

The mask is an argument of each function: there is no ``MaskedTensor``. Where a mask leaves nothing,
a reduction gives the value that it begins with: 0 for a sum, NaN for a mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._limits import iinfo
from facula._ops._arguments import wrap_dim
from facula._ops._mark import operation

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

_Dims = int | Sequence[int] | None


def __getattr__(name: str) -> Any:
    if name in ("MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"):
        raise AttributeError(
            f"masked.{name}: MaskedTensor is not part of Facula. Keep the mask beside the tensor "
            "and pass it to the functions of facula.masked as mask=."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@operation(module=__name__)
def sum(
    input: Tensor,
    dim: _Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Sum of the elements that count.

    Args:
        input: the elements.
        dim: the dimensions to reduce; all by default.
        keepdim: whether these dimensions stay in the result, with size 1.
        dtype: the dtype of the result; by default that of ``input``, and int64 for other integers.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.sum(x, 1, mask=x < 4)
        tensor([1., 5.])
    """
    dims = _dims("sum", input, dim)
    return _core.sum(_filled(input, mask, 0), dims, bool(keepdim), dtype=_sum_dtype(input, dtype))


@operation(module=__name__)
def prod(
    input: Tensor,
    dim: _Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Product of the elements that count.

    Args:
        input: the elements.
        dim: the dimensions to reduce; all by default.
        keepdim: whether these dimensions stay in the result, with size 1.
        dtype: the dtype of the result; by default that of ``input``, and int64 for other integers.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.prod(x, 1, mask=x < 4)
        tensor([1., 6.])
    """
    dims = _dims("prod", input, dim)
    result = _filled(input, mask, 1).to(_sum_dtype(input, dtype))
    for d in reversed(dims):
        result = result.prod(d, bool(keepdim))
    return result


@operation(module=__name__)
def cumsum(
    input: Tensor,
    dim: int,
    *,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Sums of the elements that count, up to each place.

    Args:
        input: the elements.
        dim: the dimension along which sums grow.
        dtype: the dtype of the result; that of ``input`` by default.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.cumsum(x, 1, mask=x < 4)
        tensor([[1., 1.],
                [3., 5.]])
    """
    dtype = dtype or input.dtype
    (d,) = _dims("cumsum", input, dim)
    return _core.cumsum(_filled(input, mask, 0), d, dtype=dtype)


@operation(module=__name__)
def cumprod(
    input: Tensor,
    dim: int,
    *,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Products of the elements that count, up to each place.

    Args:
        input: the elements.
        dim: the dimension along which products grow.
        dtype: the dtype of the result; that of ``input`` by default.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.cumprod(x, 1, mask=x < 4)
        tensor([[1., 1.],
                [3., 6.]])
    """
    dtype = dtype or input.dtype
    (d,) = _dims("cumprod", input, dim)
    return _core.cumprod(_filled(input, mask, 1), d, dtype=dtype)


@operation(module=__name__)
def amax(
    input: Tensor,
    dim: _Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Largest of the elements that count.

    Args:
        input: the elements.
        dim: the dimensions to reduce; all by default.
        keepdim: whether these dimensions stay in the result, with size 1.
        dtype: the dtype of the result; that of ``input`` by default.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.amax(x, 1, mask=x < 4)
        tensor([1., 3.])
    """
    filled = _filled(input, mask, _lowest("amax", input, mask))
    return _core.amax(filled, _dims("amax", input, dim), bool(keepdim)).to(dtype or input.dtype)


@operation(module=__name__)
def amin(
    input: Tensor,
    dim: _Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Smallest of the elements that count.

    Args:
        input: the elements.
        dim: the dimensions to reduce; all by default.
        keepdim: whether these dimensions stay in the result, with size 1.
        dtype: the dtype of the result; that of ``input`` by default.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.amin(x, 1, mask=x < 4)
        tensor([1., 2.])
    """
    filled = _filled(input, mask, _highest("amin", input, mask))
    return _core.amin(filled, _dims("amin", input, dim), bool(keepdim)).to(dtype or input.dtype)


@operation(module=__name__)
def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Place of the largest of the elements that count.

    Args:
        input: the elements.
        dim: the dimension to search along; by default all elements are searched as one line.
        keepdim: whether the dimension stays in the result, with size 1.
        dtype: the dtype of the result; that of ``input`` by default, as in PyTorch.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.argmax(x, 1, mask=x < 4, dtype=facula.int64)
        tensor([0, 0])
    """
    filled = _filled(input, mask, _lowest("argmax", input, mask))
    return _core.argmax(filled, dim, bool(keepdim)).to(dtype or input.dtype)


@operation(module=__name__)
def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Place of the smallest of the elements that count.

    Args:
        input: the elements.
        dim: the dimension to search along; by default all elements are searched as one line.
        keepdim: whether the dimension stays in the result, with size 1.
        dtype: the dtype of the result; that of ``input`` by default, as in PyTorch.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.argmin(x, 1, mask=x < 4, dtype=facula.int64)
        tensor([0, 1])
    """
    filled = _filled(input, mask, _highest("argmin", input, mask))
    return _core.argmin(filled, dim, bool(keepdim)).to(dtype or input.dtype)


@operation(module=__name__)
def mean(
    input: Tensor,
    dim: _Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Mean of the elements that count.

    Args:
        input: the elements, floating point or complex.
        dim: the dimensions to reduce; all by default.
        keepdim: whether these dimensions stay in the result, with size 1.
        dtype: the dtype of the result; that of ``input`` by default.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.mean(x, 1, mask=x < 4)
        tensor([1.0000, 2.5000])
    """
    chosen = dtype or input.dtype
    if not (chosen.is_floating_point or chosen.is_complex):
        raise ValueError(
            f"mean: Could not infer output dtype: expected a floating-point or complex dtype, got "
            f"{chosen}. Pass dtype=."
        )
    dims = _dims("mean", input, dim)
    total = _core.sum(_filled(input, mask, 0), dims, bool(keepdim), dtype=chosen)
    return total / _count(input, mask, dims, bool(keepdim))


@operation(module=__name__)
def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Median of the elements that count; of two in the middle, the smaller.

    Args:
        input: the elements.
        dim: the dimension to reduce.
        keepdim: whether the dimension stays in the result, with size 1.
        dtype: the dtype of the result for integers; theirs by default.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.median(x, 0, mask=x < 4)
        tensor([1., 2.])
    """
    (d,) = _dims("median", input, dim)
    values = input if input.is_floating_point() else input.to(_core.float32)
    result: Tensor = _core.nanmedian(_filled(values, mask, float("nan")), d, keepdim).values
    if values is input:
        return result
    if result.isnan().any():
        raise ValueError(
            "median: expects no fully masked out rows if dtype is not floating point: there is no "
            "integer for them. Convert the input with input.float()."
        )
    return result.to(dtype or input.dtype)


@operation(module=__name__)
def logsumexp(
    input: Tensor,
    dim: _Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """``log(sum(exp(input)))`` over the elements that count, without overflow.

    Args:
        input: the elements.
        dim: the dimensions to reduce; all by default.
        keepdim: whether these dimensions stay in the result, with size 1.
        dtype: the dtype of the result; that of ``input`` by default.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.logsumexp(x, 1, mask=x < 4)
        tensor([1.0000, 3.3133])
    """
    dims = _dims("logsumexp", input, dim)
    lowest = float("-inf") if input.is_complex() else _lowest("logsumexp", input, mask)
    return _core.logsumexp(_filled(input, mask, lowest), dims, keepdim).to(dtype or input.dtype)


@operation(module=__name__)
def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """``log(exp(input) + exp(other))`` of the elements that count, without overflow.

    Args:
        input: one operand.
        other: the other operand, broadcast with ``input``.
        dtype: the dtype of the result; that of ``input`` by default.
        input_mask: which elements of ``input`` count; all by default.
        other_mask: which elements of ``other`` count; all by default.

    Example:
        >>> x = facula.tensor([1.0, 2.0])
        >>> facula.masked.logaddexp(x, x, other_mask=facula.tensor([True, False]))
        tensor([1.6931, 2.0000])
    """
    one = _filled(input, input_mask, _lowest("logaddexp", input, input_mask))
    two = _filled(other, other_mask, _lowest("logaddexp", other, other_mask))
    return _core.logaddexp(one, two).to(dtype or input.dtype)


@operation(module=__name__)
def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: _Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Norm of the vectors of elements that count.

    Args:
        input: the elements.
        ord: the order of the norm.
        dim: the dimensions to reduce; all by default.
        keepdim: whether these dimensions stay in the result, with size 1.
        dtype: the dtype of the result; that of ``input`` by default.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.norm(x, 2, 1, mask=x < 4)
        tensor([1.0000, 3.6056])
    """
    fill = _highest("norm", input, mask) if ord == float("-inf") else 0
    filled = _filled(input, mask, fill)
    dims = _dims("norm", input, dim)
    order = 2.0 if ord is None else ord
    return _core._linalg_vector_norm(filled, order, dims, bool(keepdim), dtype=dtype or input.dtype)


@operation(module=__name__)
def var(
    input: Tensor,
    dim: _Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Variance of the elements that count.

    Args:
        input: the elements.
        dim: the dimensions to reduce; all by default.
        unbiased: whether ``correction`` is 1; otherwise it is 0.
        correction: what is subtracted from the number of elements before it divides; 1 by default.
        keepdim: whether these dimensions stay in the result, with size 1.
        dtype: the dtype of the result; by default that of ``input``, and float32 for integers.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.var(x, 0, mask=x < 4)
        tensor([2., nan])
    """
    return _spread("var", input, dim, unbiased, correction, keepdim, dtype, mask)


@operation(module=__name__)
def std(
    input: Tensor,
    dim: _Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Standard deviation of the elements that count.

    Args:
        input: the elements.
        dim: the dimensions to reduce; all by default.
        unbiased: whether ``correction`` is 1; otherwise it is 0.
        correction: what is subtracted from the number of elements before it divides; 1 by default.
        keepdim: whether these dimensions stay in the result, with size 1.
        dtype: the dtype of the result; by default that of ``input``, and float32 for integers.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.std(x, 0, mask=x < 4)
        tensor([1.4142,    nan])
    """
    return _spread("std", input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


@operation(module=__name__)
def softmax(
    input: Tensor,
    dim: int,
    *,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Softmax over the elements that count; those that do not have no weight.

    Args:
        input: the elements.
        dim: the dimension along which the weights add up to 1.
        dtype: the dtype of the result; that of ``input`` by default.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.softmax(x, 1, mask=x < 4)
        tensor([[1.0000, 0.0000],
                [0.7311, 0.2689]])
    """
    (d,) = _dims("softmax", input, dim)
    filled = _filled(input, mask, _lowest("softmax", input, mask))
    return _core.softmax(filled, d, dtype=dtype or input.dtype)


@operation(module=__name__)
def log_softmax(
    input: Tensor,
    dim: int,
    *,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Logarithm of the softmax over the elements that count; those that do not have no weight.

    Args:
        input: the elements.
        dim: the dimension along which the weights add up to 1.
        dtype: the dtype of the result; that of ``input`` by default.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.log_softmax(x, 1, mask=x < 4)
        tensor([[ 0.0000,    -inf],
                [-0.3133, -1.3133]])
    """
    (d,) = _dims("log_softmax", input, dim)
    filled = _filled(input, mask, _lowest("log_softmax", input, mask))
    return _core.log_softmax(filled, d, dtype=dtype or input.dtype)


@operation(module=__name__)
def softmin(
    input: Tensor,
    dim: int,
    *,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Softmax of ``-input`` over the elements that count; those that do not have no weight.

    Args:
        input: the elements.
        dim: the dimension along which the weights add up to 1.
        dtype: the dtype of the result; that of ``input`` by default.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.softmin(x, 1, mask=x < 4)
        tensor([[1.0000, 0.0000],
                [0.2689, 0.7311]])
    """
    (d,) = _dims("softmin", input, dim)
    filled = _filled(input, mask, _highest("softmin", input, mask))
    return _core.softmax(-filled, d, dtype=dtype or input.dtype)


@operation(module=__name__)
def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements that count, divided by the norm of their vector; zero elsewhere.

    Args:
        input: the elements.
        ord: the order of the norm.
        dim: the dimension along which the vectors lie.
        eps: the smallest number that is divided by.
        dtype: the dtype in which norms are computed; that of ``input`` by default.
        mask: which elements count, broadcast to ``input``; all by default.

    Example:
        >>> x = facula.tensor([[1.0, 5.0], [3.0, 2.0]])
        >>> facula.masked.normalize(x, 2, 1, mask=x < 4)
        tensor([[1.0000, 0.0000],
                [0.8321, 0.5547]])
    """
    size: Tensor = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0) / _core.maximum(size, size.new_full((), eps))


def _spread(
    name: str,
    input: Tensor,
    dim: _Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool | None,
    dtype: Any,
    mask: Tensor | None,
) -> Tensor:
    """The sum of squares around the mean, divided by the corrected number of elements."""
    if unbiased is not None and correction is not None:
        raise AssertionError(f"{name}: Only one of unbiased and correction may be given.")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    is_inexact = input.is_floating_point() or input.is_complex()
    dtype = dtype or (input.dtype if is_inexact else _core.float32)
    wide = dtype if dtype.is_floating_point or dtype.is_complex else _core.float32
    dims = _dims(name, input, dim)
    total = _core.sum(_filled(input, mask, 0), dims, True, dtype=dtype)
    count = _count(input, mask, dims, keepdim=True)
    apart = input - total / count
    squares = _core.sum(_filled(apart * apart.conj(), mask, 0), dims, bool(keepdim), dtype=wide)
    count = count.reshape(squares.shape)
    if correction != 0:
        count = (count.to(wide.to_real()) - correction).clamp_min(0)
    return (squares / count).to(dtype)


def _dims(name: str, x: Tensor, dim: _Dims) -> list[int]:
    """The dimensions, sorted; all for None and for an empty list, as in PyTorch's reductions."""
    if dim is None or (not isinstance(dim, int) and not dim):
        return list(range(x.dim()))
    given = [dim] if isinstance(dim, int) else list(dim)
    dims = [wrap_dim(name, x, d) for d in given]
    if len(set(given)) != len(given):
        raise RuntimeError(f"{name}: dim appears multiple times in the list of dims {given}.")
    return sorted(dims)


def _filled(x: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    """``x`` with another value where the mask is False."""
    if mask is None:
        return x
    return _core.where(
        _whole_mask(x, mask), x, _core.full((), value, dtype=x.dtype, device=x.device)
    )


def _whole_mask(x: Tensor, mask: Tensor) -> Tensor:
    if mask.dim() > x.dim():
        raise IndexError(
            f"masked: expected a mask that can be broadcast to the input {tuple(x.shape)}, got "
            f"{tuple(mask.shape)}."
        )
    return mask.to(_core.bool).broadcast_to(x.shape)


def _count(x: Tensor, mask: Tensor | None, dims: list[int], keepdim: bool) -> Tensor:
    """How many elements count."""
    if mask is None:
        mask = _core.ones((), dtype=_core.bool, device=x.device)
    return _core.sum(_whole_mask(x, mask), dims, keepdim)


def _sum_dtype(x: Tensor, dtype: Any) -> Any:
    if dtype is not None or x.is_floating_point() or x.is_complex():
        return dtype or x.dtype
    return _core.int64


def _lowest(name: str, x: Tensor, mask: Tensor | None) -> Any:
    """What is smaller than every element; nothing is needed without a mask."""
    return _bound(name, x, mask, is_lower=True)


def _highest(name: str, x: Tensor, mask: Tensor | None) -> Any:
    return _bound(name, x, mask, is_lower=False)


def _bound(name: str, x: Tensor, mask: Tensor | None, is_lower: bool) -> Any:
    if mask is None or x.is_floating_point():
        return float("-inf") if is_lower else float("inf")
    if x.is_complex():
        raise TypeError(f"{name}: complex numbers have no order, got {x.dtype}.")
    if x.dtype == _core.bool:
        raise NotImplementedError(f"{name}: not available for bool with a mask.")
    limits = iinfo(x.dtype)
    return limits.min if is_lower else limits.max
