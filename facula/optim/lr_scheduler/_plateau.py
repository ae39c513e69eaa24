"""A schedule that follows a metric."""

from __future__ import annotations

import math
from typing import Any, Literal, SupportsFloat

from facula._warnings import warn_user
from facula.optim._checks import check, must_be, one_of
from facula.optim.lr_scheduler._base import (
    EPOCH_WARNING,
    LRScheduler,
    check_optimizer,
    per_group,
    rates_of,
    set_option,
)
from facula.optim.optimizer import Optimizer

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """Lowers the learning rate where a metric has stopped improving.

    Args:
        optimizer: the optimiser whose rates are set.
        mode: ``"min"`` for a metric that should fall, ``"max"`` for one that should rise.
        factor: what the learning rate is multiplied by, below 1.
        patience: epochs without improvement that are accepted.
        threshold: the least that counts as improvement.
        threshold_mode: whether ``threshold`` is relative, ``"rel"``, or absolute, ``"abs"``.
        cooldown: epochs after a reduction that do not count as without improvement.
        min_lr: the lowest rate, one for all groups or a list.
        eps: reductions that are smaller are not made.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
        >>> for loss in (3.0, 2.0, 2.0, 2.0):
        ...     scheduler.step(loss)
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        check(self, "factor", factor, must_be("below 1", lambda factor: not factor >= 1.0))
        check_optimizer(self, optimizer)
        self.factor = factor
        self.optimizer = optimizer
        self.min_lrs = per_group(self, "min_lr", optimizer, min_lr)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = rates_of(optimizer)
        check(self, "mode", mode, one_of("min", "max"))
        check(self, "threshold_mode", threshold_mode, one_of("rel", "abs"))
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf  # any metric is better
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs do not count yet after a reduction."""
        return self.cooldown_counter > 0

    def step(  # type: ignore[override]
        self, metrics: SupportsFloat, epoch: int | None = None
    ) -> None:
        """Take note of the metric of an epoch, and lower the rates if there is no progress.

        Args:
            metrics: the metric of the epoch, a number or a tensor of one element.
            epoch: the number of the epoch; deprecated.

        Example:
            >>> from facula import optim
            >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
            >>> scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
            >>> scheduler.step(2.0)
            >>> scheduler.step(2.0)
            >>> scheduler.get_last_lr()
            [0.5]
        """
        current = float(metrics)
        if epoch is not None:
            warn_user(EPOCH_WARNING.format(name=type(self).__name__), UserWarning)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = rates_of(self.optimizer)

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"ReduceLROnPlateau: the optimizer has {len(groups)} parameter groups now, but "
                    f"min_lr has {len(self.min_lrs)} values."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, lowest in zip(groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            after = max(before * self.factor, lowest)
            if before - after > self.eps:  # rates near 0 would fall for ever without effect
                set_option(group, "lr", after)

    def _is_better(self, a: float, best: float) -> bool:
        if self.threshold_mode == "rel":
            change = 1.0 - self.threshold if self.mode == "min" else self.threshold + 1.0
            return a < best * change if self.mode == "min" else a > best * change
        return a < best - self.threshold if self.mode == "min" else a > best + self.threshold

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self.mode_worse = math.inf if self.mode == "min" else -math.inf
