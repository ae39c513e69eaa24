"""What must agree between a tensor of PyTorch and its twin, and how closely.

Every difference has a category and a text; the categories are those that ``known_differences.py``
may name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .frameworks import dtype_name, is_tensor, to_numpy

# Relative and absolute tolerance of one rounded operation; "sum" allows for another order of
# adding, its absolute part grows with the largest value present. That of "rounded" does too.
TOLERANCES = {
    "float16": (2e-3, 1e-4),
    "bfloat16": (1.6e-2, 1e-3),
    "float32": (2e-6, 1e-6),
    "float64": (1e-11, 1e-12),
    "complex64": (4e-6, 2e-6),
    "complex128": (1e-11, 1e-12),
}
SLACK = {"elementwise": 1.0, "rounded": 1.0, "sum": 5.0, "special": 20.0}


class Difference(NamedTuple):
    category: str
    text: str
    apart: float = 0.0  # by how many tolerances the values are apart


def value_differences(
    expected: np.ndarray, actual: np.ndarray, dtype: str, kind: str, where: str
) -> list[Difference]:
    """The first place where the values disagree; nothing where they agree.

    Where ``kind`` is "sum in float32" or the like, values of float64 and complex128 are as close as
    the narrower dtype that they were computed in.
    """
    kind, _, narrower = kind.partition(" in ")
    if narrower and dtype in ("float64", "complex128"):
        dtype = narrower
    apart = _tolerances_apart(expected, actual, dtype, kind)
    if (apart <= 1).all():
        return []
    first = tuple(int(i) for i in np.argwhere(apart > 1)[0])
    n_wrong = int((apart > 1).sum())
    at = f"{n_wrong} of {apart.size}, at {first}"
    text = f"{where}: {at}: expected {expected[first]}, got {actual[first]}"
    return [Difference("value", text, float(apart.max()))]


def _tolerances_apart(
    expected: np.ndarray, actual: np.ndarray, dtype: str, kind: str
) -> np.ndarray:
    if dtype not in TOLERANCES or kind in ("exact", "repeated"):
        equal = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
        return np.where(equal, 0.0, np.inf)
    if np.iscomplexobj(expected):
        # NaN and infinity are compared per part, so that nan+1j does not equal 1+nanj.
        parts = [
            _real_tolerances_apart(e, a, dtype, kind, np.abs(expected))
            for e, a in ((expected.real, actual.real), (expected.imag, actual.imag))
        ]
        return np.maximum(*parts)
    return _real_tolerances_apart(expected, actual, dtype, kind, np.abs(expected))


def _real_tolerances_apart(
    expected: np.ndarray, actual: np.ndarray, dtype: str, kind: str, magnitude: np.ndarray
) -> np.ndarray:
    rtol, atol = (SLACK[kind] * t for t in TOLERANCES[dtype])
    expected, actual = expected.astype(np.float64), actual.astype(np.float64)
    magnitude = np.where(np.isfinite(magnitude), magnitude, 0).astype(np.float64)
    if kind != "elementwise" and magnitude.size:
        atol *= max(1.0, float(magnitude.max()))
    equal = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
    with np.errstate(invalid="ignore"):
        apart = np.abs(expected - actual) / (atol + rtol * magnitude)
    return np.where(equal, 0.0, np.where(np.isnan(apart), np.inf, apart))


def tensor_differences(expected: Any, actual: Any, kind: str, where: str) -> list[Difference]:
    """Dtype, shape, strides, values and ``requires_grad`` of two tensors."""
    if not is_tensor(actual):
        return [Difference("type", f"{where}: expected a tensor, got {actual!r:.80}")]
    dtype = dtype_name(expected.dtype)
    found = []
    if dtype_name(actual.dtype) != dtype:
        found.append(Difference("dtype", f"{where}: expected {dtype}, got {actual.dtype}"))
    if tuple(actual.shape) != tuple(expected.shape):
        text = f"{where}: expected {tuple(expected.shape)}, got {tuple(actual.shape)}"
        return [*found, Difference("shape", text)]
    if not _same_strides(expected, actual):
        text = (
            f"{where} {tuple(expected.shape)}: expected {expected.stride()}, got {actual.stride()}"
        )
        found.append(Difference("strides", text))
    if actual.requires_grad != expected.requires_grad:
        text = f"{where}: expected requires_grad={expected.requires_grad}"
        found.append(Difference("requires_grad", text))
    if kind != "unspecified" and dtype_name(actual.dtype) == dtype:
        found += value_differences(to_numpy(expected), to_numpy(actual), dtype, kind, where)
    return found


def _same_strides(expected: Any, actual: Any) -> bool:
    """Strides of dims of one element, and of empty tensors, address nothing and are free."""
    if expected.numel() == 0:
        return True
    return all(
        size == 1 or e == a
        for size, e, a in zip(expected.shape, expected.stride(), actual.stride(), strict=True)
    )


def grad_fn_name(tensor: Any) -> str | None:
    """Without the namespace that PyTorch gives to a few of its nodes."""
    return tensor.grad_fn.name().rsplit("::", 1)[-1] if tensor.grad_fn is not None else None


def result_differences(expected: Any, actual: Any, kind: str, where: str) -> list[Difference]:
    """Like ``tensor_differences`` for any result: containers by structure, the rest by ``==``."""
    if is_tensor(expected):
        return tensor_differences(expected, actual, kind, where)
    if isinstance(expected, (list, tuple)) and not _is_size(expected):
        if not isinstance(actual, (list, tuple)) or len(actual) != len(expected):
            text = f"{where}: expected {len(expected)} results, got {actual!r:.80}"
            return [Difference("type", text)]
        found = _field_differences(expected, actual, where)
        for i, (e, a) in enumerate(zip(expected, actual, strict=True)):
            found += result_differences(e, a, kind, f"{where}[{i}]")
        return found
    if isinstance(expected, float) and isinstance(actual, float):
        return value_differences(np.array(expected), np.array(actual), "float64", kind, where)
    if type(expected).__module__.startswith("torch"):
        same = _bare(expected) == _bare(actual)
    else:
        same = type(expected) is type(actual) and expected == actual
    text = f"{where}: expected {expected!r}, got {actual!r:.80}"
    return [] if same else [Difference("value", text)]


def _bare(value: Any) -> str:
    """``float32``, ``Size([2])``: an object of either framework, printed without its package."""
    return str(value).replace("torch.", "").replace("facula.", "")


def _is_size(value: Any) -> bool:
    return type(value).__name__ == "Size"


def _field_differences(expected: Any, actual: Any, where: str) -> list[Difference]:
    """Results with named fields (``values``, ``indices``) have the same names here."""
    names = getattr(type(expected), "__match_args__", ())
    missing = [n for i, n in enumerate(names) if getattr(actual, n, None) is not actual[i]]
    return [Difference("type", f"{where}: no fields {missing}")] if missing else []
