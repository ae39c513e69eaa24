"""``autocast`` and its decorators for GPUs, by their older names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import _core
from facula._warnings import warn_user
from facula.amp import autocast_mode

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


def _warn(old: str, new: str) -> None:
    warn_user(
        f"facula.cuda.amp.{old} is deprecated. Please use facula.amp.{new} instead.",
        FutureWarning,
    )


class autocast(autocast_mode.autocast):
    """The older name of ``facula.amp.autocast("cuda", ...)``.

    Args:
        enabled: whether the block casts.
        dtype: the dtype of 16 bits.
        cache_enabled: whether a weight that is used twice is cast once.
    """

    def __init__(
        self,
        enabled: bool = True,
        dtype: _core.dtype = _core.float16,
        cache_enabled: bool = True,
    ) -> None:
        _warn("autocast(args...)", "autocast('cuda', args...)")
        super().__init__("cuda", dtype, enabled, cache_enabled)


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, cast_inputs: _core.dtype | None = None
) -> Callable[..., Any]:
    """The older name of ``facula.amp.custom_fwd(..., device_type="cuda")``."""
    _warn("custom_fwd(args...)", "custom_fwd(args..., device_type='cuda')")
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """The older name of ``facula.amp.custom_bwd(..., device_type="cuda")``."""
    _warn("custom_bwd(args...)", "custom_bwd(args..., device_type='cuda')")
    return autocast_mode.custom_bwd(bwd, device_type="cuda")
