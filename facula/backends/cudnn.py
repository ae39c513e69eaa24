"""cuDNN, which computes convolutions and recurrent layers on a GPU, where it is installed.

The switches are attributes: ``facula.backends.cudnn.benchmark = True``.
"""

from __future__ import annotations

import sys
import types

from facula import _core

__all__ = ["allow_tf32", "benchmark", "deterministic", "enabled", "is_available", "version"]

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
