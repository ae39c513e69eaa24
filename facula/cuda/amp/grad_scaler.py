"""``GradScaler`` for GPUs, by its older name."""

from __future__ import annotations

from facula._warnings import warn_user
from facula.amp import grad_scaler

__all__ = ["GradScaler"]


class GradScaler(grad_scaler.GradScaler):
    """The older name of ``facula.amp.GradScaler("cuda", ...)``, which explains the arguments."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_user(
            "facula.cuda.amp.GradScaler(args...) is deprecated. Please use "
            "facula.amp.GradScaler('cuda', args...) instead.",
            FutureWarning,
        )
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
