"""``autocast`` for CPUs, by its older name."""

from __future__ import annotations

from facula import _core
from facula._warnings import warn_user
from facula.amp import autocast_mode

__all__ = ["autocast"]


class autocast(autocast_mode.autocast):
    """The older name of ``facula.amp.autocast("cpu", ...)``.

    Args:
        enabled: whether the block casts.
        dtype: the dtype of 16 bits.
        cache_enabled: whether a weight that is used twice is cast once.
    """

    def __init__(
        self,
        enabled: bool = True,
        dtype: _core.dtype = _core.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        warn_user(
            "facula.cpu.amp.autocast(args...) is deprecated. Please use "
            "facula.amp.autocast('cpu', args...) instead.",
            FutureWarning,
        )
        super().__init__("cpu", dtype, enabled, cache_enabled)
