"""Schedules along a cosine."""

from __future__ import annotations

import math

from facula.optim._checks import check, integer_above_0, must_be
from facula.optim.lr_scheduler._base import (
    LRScheduler,
    Rate,
    _enable_get_lr_call,
    rates_of,
    warn_outside_step,
)
from facula.optim.optimizer import Optimizer

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    """Lowers the learning rate to ``eta_min`` in ``T_max`` epochs along half a cosine, and back.

    Args:
        optimizer: the optimiser whose rates are set.
        T_max: half the period, in epochs.
        eta_min: the lowest learning rate.
        last_epoch: the epoch to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        warn_outside_step(self)
        rates = rates_of(self.optimizer)
        if self._is_initial:
            return rates
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        # From the lowest point on there is no ratio to the last rate, only a difference.
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = 1 - math.cos(math.pi / self.T_max)
            return [
                rate + (base - self.eta_min) * rise / 2
                for rate, base in zip(rates, self.base_lrs, strict=True)
            ]
        ratio = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / (
            1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        )
        return [ratio * (rate - self.eta_min) + self.eta_min for rate in rates]

    def _get_closed_form_lr(self) -> list[Rate]:
        half = math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * (1 + half) / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Lowers the learning rate along half a cosine, and starts again from the top.

    ``step`` takes fractions of an epoch as well.

    Args:
        optimizer: the optimiser whose rates are set.
        T_0: how many epochs the first run lasts.
        T_mult: how many times longer each run is than the one before.
        eta_min: the lowest learning rate.
        last_epoch: the epoch to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> for epoch in (0.5, 1, 2):
        ...     scheduler.step(epoch)
        ...     print(f"{scheduler.get_last_lr()[0]:.3f}")
        0.854
        0.500
        1.000
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        check(self, "T_0", T_0, integer_above_0)
        check(self, "T_mult", T_mult, integer_above_0)
        check(self, "eta_min", eta_min, must_be("a number", lambda x: isinstance(x, (float, int))))
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        warn_outside_step(self)
        half = math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * (1 + half) / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to ``epoch``, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"{type(self).__name__}: epoch must be at least 0, got {epoch}.")
            self._find_run(epoch)
        self.last_epoch = math.floor(epoch)
        with _enable_get_lr_call(self):
            rates = self.get_lr()
        self._set_rates(rates)

    def _find_run(self, epoch: float) -> None:
        if epoch < self.T_0:
            self.T_i = self.T_0
            self.T_cur = epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            growth = self.T_mult - 1
            n_runs = int(math.log(epoch / self.T_0 * growth + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n_runs - 1) / growth
            self.T_i = self.T_0 * self.T_mult**n_runs
