"""Schedules that multiply the learning rate by a factor."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, cast

from facula.optim._checks import between_0_and_1, check, must_be
from facula.optim.lr_scheduler._base import (
    LRScheduler,
    Rate,
    per_group,
    rates_of,
    saved_function,
    warn_outside_step,
)
from facula.optim.optimizer import Optimizer

__all__ = [
    "ConstantLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "StepLR",
]


class _FactorLR(LRScheduler):
    """A schedule whose rate is the last one times a factor, or the first one times another.

    The first form works together with other schedules of the same optimiser, since it takes
    whatever rate it finds. The second is used to jump to an epoch.
    """

    def _factor(self) -> float | None:
        """The factor from the last epoch to this one; None leaves the rates as they are."""
        raise NotImplementedError

    def _factor_of_first(self) -> float:
        """The factor from the first epoch to this one."""
        raise NotImplementedError

    def get_lr(self) -> list[Rate]:
        warn_outside_step(self)
        factor = self._factor()
        rates = rates_of(self.optimizer)
        return rates if factor is None else [rate * factor for rate in rates]

    def _get_closed_form_lr(self) -> list[Rate]:
        factor = self._factor_of_first()
        return [rate * factor for rate in self.base_lrs]


class StepLR(_FactorLR):
    """Multiplies the learning rate by ``gamma`` every ``step_size`` epochs.

    Args:
        optimizer: the optimiser whose rates are set.
        step_size: how many epochs a rate lasts.
        gamma: factor that takes one learning rate to the next.
        last_epoch: the epoch to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> for _ in range(4):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     print(*scheduler.get_last_lr())
        1.0
        0.5
        0.5
        0.25
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        is_new = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self.gamma if is_new else None

    def _factor_of_first(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(_FactorLR):
    """Multiplies the learning rate by ``gamma`` at each milestone.

    Args:
        optimizer: the optimiser whose rates are set.
        milestones: epochs at which the rate changes; one that is listed twice counts twice.
        gamma: factor that takes one learning rate to the next.
        last_epoch: the epoch to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], gamma=0.5)
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     print(*scheduler.get_last_lr())
        0.5
        0.5
        0.25
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        n_here = self.milestones.get(self.last_epoch)
        return None if n_here is None else self.gamma**n_here

    def _factor_of_first(self) -> float:
        n_passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return self.gamma**n_passed


class ConstantLR(_FactorLR):
    """Multiplies the learning rate by ``factor`` for the first ``total_iters`` epochs.

    Args:
        optimizer: the optimiser whose rates are set.
        factor: what the learning rate is multiplied by, between 0 and 1.
        total_iters: how many epochs the factor lasts.
        last_epoch: the epoch to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> for _ in range(2):
        ...     print(*scheduler.get_last_lr())
        ...     optimizer.step()
        ...     scheduler.step()
        0.5
        0.5
        >>> scheduler.get_last_lr()
        [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        check(self, "factor", factor, between_0_and_1)
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _factor_of_first(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(_FactorLR):
    """Moves the factor of the learning rate on a line over ``total_iters`` epochs.

    Args:
        optimizer: the optimiser whose rates are set.
        start_factor: factor of the first epoch, above 0 and at most 1.
        end_factor: factor of the last epoch, between 0 and 1.
        total_iters: how many epochs the change takes.
        last_epoch: the epoch to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> for _ in range(2):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     print(*scheduler.get_last_lr())
        0.75
        1.0
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        # Not 0: the rates after the first are multiples of it.
        is_start = must_be("above 0 and at most 1", lambda factor: 0 < factor <= 1)
        check(self, "start_factor", start_factor, is_start)
        check(self, "end_factor", end_factor, between_0_and_1)
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        last = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return 1.0 + rise / last

    def _factor_of_first(self) -> float:
        rise = self.end_factor - self.start_factor
        return self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters


class ExponentialLR(_FactorLR):
    """Multiplies the learning rate by ``gamma`` every epoch.

    Args:
        optimizer: the optimiser whose rates are set.
        gamma: factor that takes one learning rate to the next.
        last_epoch: the epoch to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self._is_initial else self.gamma

    def _factor_of_first(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(_FactorLR):
    """Lowers the learning rate to 0 in ``total_iters`` epochs, by a power of what remains of them.

    Args:
        optimizer: the optimiser whose rates are set.
        total_iters: how many epochs the change takes.
        power: power of the part of the epochs that remains; 1 is a line.
        last_epoch: the epoch to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        now, before = self.last_epoch / self.total_iters, (self.last_epoch - 1) / self.total_iters
        return cast(float, ((1.0 - now) / (1.0 - before)) ** self.power)

    def _factor_of_first(self) -> float:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return cast(float, (1.0 - done) ** self.power)


class _FunctionLR(LRScheduler):
    """A schedule whose factors are functions of the epoch, one for each group."""

    _needed = ("lr_lambdas",)

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = optimizer
        self.lr_lambdas: list[Callable[[int], float]] = per_group(
            self, "lr_lambda", optimizer, lr_lambda
        )
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(
                    f"{type(self).__name__}: lr_lambda must be a function, got "
                    f"{type(function).__name__}."
                )
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        functions = [saved_function(function) for function in self.lr_lambdas]
        return {**super().state_dict(), "lr_lambdas": functions}

    def _check_state(self, state_dict: Any) -> None:
        super()._check_state(state_dict)
        self._check_count("lr_lambdas", state_dict["lr_lambdas"], len(self.lr_lambdas))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        functions = self.lr_lambdas
        super().load_state_dict(state_dict)
        self.lr_lambdas = functions
        # Functions are not saved, as they may not be picklable; the state of callable objects is.
        for function, saved in zip(functions, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_FunctionLR):
    """Multiplies the first learning rate by a function of the epoch.

    Args:
        optimizer: the optimiser whose rates are set.
        lr_lambda: function from the epoch to a factor, or a list of one for each group.
        last_epoch: the epoch to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def get_lr(self) -> list[Rate]:
        warn_outside_step(self)
        return [
            rate * function(self.last_epoch)
            for rate, function in zip(self.base_lrs, self.lr_lambdas, strict=True)
        ]


class MultiplicativeLR(_FunctionLR):
    """Multiplies the last learning rate by a function of the epoch.

    Args:
        optimizer: the optimiser whose rates are set.
        lr_lambda: function from the epoch to a factor, or a list of one for each group.
        last_epoch: the epoch to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def get_lr(self) -> list[Rate]:
        warn_outside_step(self)
        rates = rates_of(self.optimizer)
        if self._is_initial:
            return rates
        return [
            rate * function(self.last_epoch)
            for rate, function in zip(rates, self.lr_lambdas, strict=True)
        ]
