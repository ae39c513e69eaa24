"""Comparison: equality with tolerance, and membership."""

from __future__ import annotations

from facula import _core
from facula._core import Tensor
from facula._ops._mark import operation
from facula._ops._out import into


@operation(method=True)
def isclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Whether elements are equal within ``atol + rtol * |other|``.

    Args:
        input: the tensor to compare.
        other: the tensor to compare with, of the same dtype.
        rtol: the tolerance relative to the size of ``other``.
        atol: the absolute tolerance.
        equal_nan: whether two NaN count as equal.

    Example:
        >>> facula.isclose(facula.tensor([1.0, 2.0]), facula.tensor([1.0 + 1e-9, 2.1]))
        tensor([ True, False])
    """
    if input.dtype != other.dtype:
        raise RuntimeError(
            f"isclose: expected inputs of one dtype, got {input.dtype} and {other.dtype}."
        )
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"isclose: expected tolerances >= 0, got rtol={rtol}, atol={atol}.")
    close = input == other
    is_inexact = input.is_floating_point() or input.is_complex()
    if equal_nan and is_inexact:
        close = close | (input.isnan() & other.isnan())
    if rtol == 0 and atol == 0:
        return close
    # Unsigned integers would wrap around in the subtraction.
    reference = other if is_inexact else other.to(_core.get_default_dtype())
    allowed = atol + (rtol * reference).abs()
    difference = (input.to(reference.dtype) - reference).abs()
    return close | (difference.isfinite() & (difference <= allowed))


@operation(method=True)
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Whether all elements are equal within ``atol + rtol * |other|``.

    Args:
        input: the tensor to compare.
        other: the tensor to compare with, of the same dtype.
        rtol: the tolerance relative to the size of ``other``.
        atol: the absolute tolerance.
        equal_nan: whether two NaN count as equal.

    Example:
        >>> facula.allclose(facula.tensor([1.0, 2.0]), facula.tensor([1.0 + 1e-9, 2.0]))
        True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@operation
def isin(
    elements: Tensor | float,
    test_elements: Tensor | float,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Whether each element is among ``test_elements``.

    Args:
        elements: what to look for: a tensor, or a number if ``test_elements`` is a tensor.
        test_elements: what to look among: a tensor, or a number if ``elements`` is a tensor.
        assume_unique: accepted for compatibility; the promise makes nothing faster here.
        invert: whether to tell instead which elements are not among ``test_elements``.
        out: where to put the result, a tensor of dtype bool.

    Example:
        >>> facula.isin(facula.tensor([1, 2, 3]), facula.tensor([2, 5]))
        tensor([False,  True, False])
    """
    if not isinstance(elements, Tensor):
        if not isinstance(test_elements, Tensor):
            raise TypeError("isin: expected a tensor, got two numbers.")
        elements = _core.tensor(elements, device=test_elements.device)
    for given in (elements, test_elements):
        if isinstance(given, Tensor):
            is_real = given.dtype != _core.bool and not given.is_complex()
        else:
            is_real = not isinstance(given, (bool, complex))
        if not is_real:
            raise RuntimeError(f"isin: expected real numbers, got {given!r:.60}.")
    if out is not None and out.dtype != _core.bool:
        raise RuntimeError(f"isin: expected out of dtype bool, got {out.dtype}.")
    if isinstance(test_elements, Tensor):
        found = _are_among(elements, test_elements)
    else:
        found = elements == test_elements
    return into("isin", out, ~found if invert else found)


# The signed dtypes of the size of those that have no order in the core.
_SIGNED = {
    _core.uint16: _core.int16,
    _core.uint32: _core.int32,
    _core.uint64: _core.int64,
}


_FEW = 4096  # pairs that are compared in less time than one side is sorted


def _are_among(elements: Tensor, test_elements: Tensor) -> Tensor:
    dtype = _core.promote_types(elements.dtype, test_elements.dtype)
    if dtype not in _SIGNED and elements.numel() * test_elements.numel() <= _FEW:
        return (elements.unsqueeze(-1) == test_elements.reshape(-1)).any(-1)
    values, tests = elements.detach().to(dtype), test_elements.detach().to(dtype).reshape(-1)
    if dtype in _SIGNED:
        # Numbers are equal where their bits are.
        values, tests = values.view(_SIGNED[dtype]), tests.view(_SIGNED[dtype])
    if tests.numel() == 0:
        return _core.zeros(values.shape, dtype=_core.bool, device=values.device)
    # NaN equals nothing, and has no place in an order: as infinity it comes behind all others.
    is_nan = tests.isnan() if tests.is_floating_point() else None
    ordered = (tests if is_nan is None else tests.masked_fill(is_nan, float("inf"))).sort()[0]
    place = _core.searchsorted(ordered, values.reshape(-1))
    found: Tensor = ordered[place.clamp_max(tests.numel() - 1)] == values.reshape(-1)
    if is_nan is not None:
        found = found & (place < (~is_nan).sum())
    return found.reshape(values.shape)
