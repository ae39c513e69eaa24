"""cuDNN, which computes convolutions and recurrent layers on a GPU, where it is installed.

The switches are attributes: ``facula.backends.cudnn.benchmark = True``.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator

from facula import _core
from facula._core import Tensor

__all__ = [
    "CUDNN_TENSOR_DTYPES",
    "allow_tf32",
    "benchmark",
    "benchmark_limit",
    "deterministic",
    "enabled",
    "flags",
    "is_acceptable",
    "is_available",
    "set_flags",
    "version",
]

CUDNN_TENSOR_DTYPES = {_core.half, _core.bfloat16, _core.float, _core.double}
benchmark_limit = 10

enabled: bool
benchmark: bool
deterministic: bool
allow_tf32: bool


def is_available() -> bool:
    """Whether cuDNN was found; without it, slower kernels of our own are used.

    Example:
        >>> facula.backends.cudnn.is_available() == (facula.backends.cudnn.version() is not None)
        True
    """
    return not _core._cuda_unavailable_reason() and not _core._cudnn_problem()


def version() -> int | None:
    """The version of cuDNN, 91900 for 9.19.0, or None where it was not found.

    Example:
        >>> facula.backends.cudnn.version() is None or facula.backends.cudnn.version() >= 90000
        True
    """
    return _core._cudnn_version() if is_available() else None


def is_acceptable(tensor: Tensor) -> bool:
    """Whether cuDNN computes with a tensor: one of floating point on a GPU, where it was found.

    Args:
        tensor: the tensor.

    Example:
        >>> facula.backends.cudnn.is_acceptable(facula.ones(2))
        False
    """
    is_there = tensor.is_cuda and tensor.dtype in CUDNN_TENSOR_DTYPES
    return bool(_core._cudnn_enabled()) and is_there and is_available()


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    **others: object,
) -> tuple[bool, bool, int, bool, bool]:
    """Set the switches that are given; returns what they were."""
    global benchmark_limit
    this = sys.modules[__name__]
    before = (
        this.enabled,
        this.benchmark,
        benchmark_limit,
        this.deterministic,
        this.allow_tf32,
    )
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
    values = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    for name, value in zip(names, values, strict=True):
        if value is not None:
            setattr(this, name, value)
    return before


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    **others: object,
) -> Iterator[None]:
    """A block with other switches.

    Args:
        enabled: whether cuDNN is used.
        benchmark: whether it measures which way is the fastest.
        benchmark_limit: how many ways it tries.
        deterministic: whether only ways that give the same bits are taken.
        allow_tf32: whether float32 may be rounded for the tensor cores.
        others: accepted for compatibility.

    Example:
        >>> with facula.backends.cudnn.flags(enabled=False):
        ...     facula.backends.cudnn.enabled
        False
    """
    before = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*before)


def _switch(name: str) -> property:
    return property(
        lambda _: getattr(_core, f"_cudnn_{name}")(),
        lambda _, value: getattr(_core, f"_set_cudnn_{name}")(bool(value)),
    )


class _Switches(types.ModuleType):
    """The module itself: what is set on it is told to the core."""

    enabled = _switch("enabled")
    benchmark = _switch("benchmark")
    deterministic = _switch("deterministic")
    allow_tf32 = _switch("allow_tf32")


sys.modules[__name__].__class__ = _Switches
