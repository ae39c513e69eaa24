"""assert_close: tensors, numbers and containers of them, within a tolerance."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula._warnings import warn_user

Message = str | Callable[[str], str] | None

# Relative and absolute tolerance by dtype; every other dtype must be equal.
_TOLERANCES = {
    facula.float16: (1e-3, 1e-5),
    facula.bfloat16: (1.6e-2, 1e-5),
    facula.float32: (1.3e-6, 1e-5),
    facula.float64: (1e-7, 1e-7),
    facula.complex64: (1.3e-6, 1e-5),
    facula.complex128: (1e-7, 1e-7),
}
_DTYPES_OF_NUMBERS: dict[type, facula.dtype] = {
    int: facula.int64,
    float: facula.float64,
    complex: facula.complex128,
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raises AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Sequences and mappings are compared item by item.

    Args:
        actual: tensors, arrays, numbers, None, or sequences and mappings of them.
        expected: what ``actual`` should be, of the same type.
        allow_subclasses: whether one type may be derived from the other.
        rtol: relative tolerance, given together with ``atol``; by default it goes by the dtype,
            with the wider of two.
        atol: absolute tolerance, given together with ``rtol``; by default it goes by the dtype,
            with the wider of two.
        equal_nan: whether NaN equals NaN.
        check_device: whether the devices must agree as well.
        check_dtype: whether the dtypes must agree as well.
        check_stride: whether the strides must agree as well.
        check_layout: whether the layouts must agree as well; values of a sparse tensor and of a
            dense one can be compared without.
        msg: the message to fail with, or a function that makes it of the usual one.

    Example:
        >>> facula.testing.assert_close(facula.tensor([1.0, 2.0]), facula.tensor([1.0, 2.000001]))
        >>> facula.testing.assert_close(1.0, 1.1, msg="far")
        Traceback (most recent call last):
        AssertionError: far
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "assert_close: rtol and atol must both be specified or both be unspecified, "
            f"got rtol={rtol} and atol={atol}."
        )
    options = {
        "layout": check_layout,
        "dtype": check_dtype,
        "device": check_device,
        "stride": check_stride,
    }
    tolerance = None if rtol is None or atol is None else (rtol, atol)
    text = _difference(actual, expected, tolerance, equal_nan, options, allow_subclasses, "")
    if text is not None:
        raise AssertionError(msg(text) if callable(msg) else text if msg is None else msg)


def _difference(
    actual: Any,
    expected: Any,
    tolerance: tuple[float, float] | None,
    equal_nan: bool,
    options: dict[str, bool],
    allow_subclasses: bool,
    where: str,
) -> str | None:
    """What is wrong, or None. ``where`` is the path of the item in its containers."""

    def inner(a: Any, e: Any, key: Any) -> str | None:
        path = f"{where}[{key!r}]"
        return _difference(a, e, tolerance, equal_nan, options, allow_subclasses, path)

    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            keys = sorted(map(str, set(actual) ^ set(expected)))
            return f"The keys of the mappings do not match{_at(where)}: only one side has {keys}."
        pairs = [(actual[key], expected[key], key) for key in expected]
        return next((text for text in (inner(*pair) for pair in pairs) if text), None)
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            lengths = f"{len(actual)} != {len(expected)}"
            return f"The length of the sequences mismatch{_at(where)}: {lengths}"
        pairs = [(a, e, i) for i, (a, e) in enumerate(zip(actual, expected, strict=True))]
        return next((text for text in (inner(*pair) for pair in pairs) if text), None)
    if actual is None or expected is None:
        if actual is expected:
            return None
        return f"None mismatch: {actual} is not {expected}" + _of_item(where)
    is_scalar = all(isinstance(v, numbers.Number) for v in (actual, expected))
    if is_scalar:  # NumPy's numbers are compared as Python's, whose types they then have
        actual, expected = (v.item() if hasattr(v, "item") else v for v in (actual, expected))
    left, right = type(actual), type(expected)
    is_comparable = is_scalar or left is right
    if allow_subclasses:
        is_comparable |= isinstance(actual, right) or isinstance(expected, left)
    if not is_comparable or not (_is_value(actual) and _is_value(expected)):
        types = f"{left.__name__} and {right.__name__}"
        raise TypeError(f"assert_close: cannot compare{_at(where)} {types}.")
    if is_scalar and options["dtype"] and left is not right:
        return f"The (d)types do not match: {left} != {right}." + _of_item(where)
    if left is right is bool:
        if actual == expected:
            return None
        return f"Booleans mismatch: {actual} is not {expected}" + _of_item(where)
    a, e = (_tensor_of(v) for v in (actual, expected))
    if not is_scalar:
        text = _attribute_difference(a, e, options)
        if text is not None:
            return text + _of_item(where)
    if a.is_meta and e.is_meta:
        return None  # there are no values
    return _value_difference(a, e, tolerance, equal_nan, is_scalar, where)


def _tensor_of(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    # Python's numbers have the tolerance of float64, whatever the default dtype is.
    return facula.as_tensor(value, dtype=_DTYPES_OF_NUMBERS.get(type(value)))


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_value(value: Any) -> bool:
    return isinstance(value, (Tensor, numbers.Number)) or hasattr(value, "__array__")


def _at(where: str) -> str:
    return f" at item {where}" if where else ""


def _of_item(where: str) -> str:
    return f"\n\nThe failure occurred for item {where}" if where else ""


def _attribute_difference(a: Tensor, e: Tensor, options: dict[str, bool]) -> str | None:
    if a.shape != e.shape:
        return f"The values for attribute 'shape' do not match: {a.shape} != {e.shape}."
    for name, is_checked in options.items():
        left, right = (getattr(t, name) for t in (a, e))
        if name == "stride":
            left, right = left(), right()
        if is_checked and left != right:
            return f"The values for attribute {name!r} do not match: {left} != {right}."
    return None


def _value_difference(
    a: Tensor,
    e: Tensor,
    tolerance: tuple[float, float] | None,
    equal_nan: bool,
    is_scalar: bool,
    where: str,
) -> str | None:
    if tolerance is None:
        both = [_TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (a, e)]
        tolerance = max(t[0] for t in both), max(t[1] for t in both)
    rtol, atol = tolerance
    dtype = facula.promote_types(a.dtype, e.dtype)
    wide = facula.complex128 if dtype.is_complex else facula.float64
    wide = wide if dtype.is_complex or dtype.is_floating_point else facula.int64
    values = e.detach().cpu(), a.detach().cpu()
    # In the widest type: in their own, the difference of two values may overflow or round to 0.
    a, e = (t.detach().to_dense().cpu().to(wide) for t in (a, e))
    is_close = facula.isclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if is_close.all():
        return None
    is_exact = rtol == atol == 0
    kind = "equal" if is_exact else "close"
    up_to = ["" if is_exact else f" (up to {number} allowed)" for number in (atol, rtol)]
    gap = (a - e).abs()
    if is_scalar or a.dim() == 0:
        expected, actual = (value.item() for value in values)
        return (
            f"Scalars are not {kind}!\n\nExpected {expected} but got {actual}.\n"
            f"Absolute difference: {gap.item()}{up_to[0]}\n"
            f"Relative difference: {(gap.double() / e.abs()).item()}{up_to[1]}" + _of_item(where)
        )
    # The text has the numbers in the dtype of the tensors, as PyTorch's.
    own = dtype.to_real() if dtype.is_complex or dtype.is_floating_point else facula.float32
    n_wrong = int((~is_close).sum())
    absolute, relative = (
        _greatest(difference.masked_fill(is_close, 0))
        for difference in (gap.to(own) if dtype.is_floating_point else gap, (gap / e.abs()).to(own))
    )
    return (
        f"Tensor-likes are not {kind}!\n\n"
        f"Mismatched elements: {n_wrong} / {a.numel()} ({n_wrong / a.numel():.1%})\n"
        f"Greatest absolute difference: {absolute}{up_to[0]}\n"
        f"Greatest relative difference: {relative}{up_to[1]}" + _of_item(where)
    )


def _greatest(differences: Tensor) -> str:
    worst = differences.argmax()
    at = tuple(int(i) for i in facula.unravel_index(worst, differences.shape))
    return f"{differences[at].item()} at index {at}"


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older form of :func:`assert_close`, which converts what it is given first.

    Args:
        actual: a tensor, or what one is made of.
        expected: what ``actual`` should be.
        rtol: relative tolerance, given together with ``atol``.
        atol: absolute tolerance, given together with ``rtol``.
        equal_nan: whether NaN equals NaN.
        msg: the message to fail with.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> facula.testing.assert_allclose([1.0, 2.0], facula.tensor([1.0, 2.0]))
    """
    warn_user(
        "`torch.testing.assert_allclose()` is deprecated. Use `torch.testing.assert_close()`.",
        FutureWarning,
    )
    if not isinstance(actual, Tensor):
        actual = facula.tensor(actual)
    if not isinstance(expected, Tensor):
        expected = facula.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = _OLD_TOLERANCES.get(actual.dtype, (0.0, 0.0))
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        msg=msg or None,
    )


_OLD_TOLERANCES = {
    facula.float16: (1e-3, 1e-3),
    facula.bfloat16: (1e-2, 1e-2),
    facula.float32: (1e-4, 1e-5),
    facula.float64: (1e-5, 1e-8),
}
