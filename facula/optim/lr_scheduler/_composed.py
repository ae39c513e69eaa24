"""Schedules made of schedules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from facula.optim.lr_scheduler._base import LRScheduler, rates_of, set_option
from facula.optim.lr_scheduler._plateau import ReduceLROnPlateau
from facula.optim.optimizer import Optimizer

__all__ = ["ChainedScheduler", "SequentialLR"]


class _ComposedLR(LRScheduler):
    _schedulers: Sequence[LRScheduler]
    _needed = ("_schedulers",)

    def _check(self, optimizer: Optimizer, schedulers: Sequence[Any]) -> None:
        name = type(self).__name__
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name}: scheduler {i} has no optimizer.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name}: scheduler {i} is a ReduceLROnPlateau, whose step needs the metrics."
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"{name}: scheduler {i} has another optimizer than the others.")

    def state_dict(self) -> dict[str, Any]:
        states = [scheduler.state_dict() for scheduler in self._schedulers]
        return {**super().state_dict(), "_schedulers": states}

    def _check_state(self, state_dict: Any) -> None:
        super()._check_state(state_dict)
        states = state_dict["_schedulers"]
        self._check_count("_schedulers", states, len(self._schedulers))
        for scheduler, state in zip(self._schedulers, states, strict=True):
            if isinstance(scheduler, LRScheduler):
                scheduler._check_state(state)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        schedulers = self._schedulers  # under this key the state has theirs, not the objects
        super().load_state_dict(state_dict)
        self._schedulers = schedulers
        for scheduler, state in zip(schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_ComposedLR):
    """Schedules one after the other, each from its milestone on.

    Args:
        optimizer: the optimiser that all the schedules have.
        schedulers: the schedules to combine.
        milestones: epochs at which the next schedule takes over; one fewer than schedules.
        last_epoch: the epoch to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> warm_up = optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> decay = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = optim.lr_scheduler.SequentialLR(optimizer, [warm_up, decay], [2])
        >>> for _ in range(4):
        ...     print(*scheduler.get_last_lr())
        ...     optimizer.step()
        ...     scheduler.step()
        0.5
        0.5
        1.0
        0.5
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers:
            raise ValueError("SequentialLR: expected at least one scheduler, got none.")
        self._check(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: {len(schedulers)} schedulers need {len(schedulers) - 1} "
                f"milestones, got {len(milestones)}."
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each schedule has taken its first step when it was made: all of them begin again.
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = self._scheduler_at(0)
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def _scheduler_at(self, epoch: int) -> LRScheduler:
        return self._schedulers[bisect_right(self._milestones, epoch)]

    def recursive_undo(self, sched: LRScheduler | None = None) -> None:
        """Take back one epoch of ``sched``, or of all schedules in here."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for inner in scheduler._schedulers:
                self.recursive_undo(inner)
        else:
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch."""
        self.last_epoch += 1
        scheduler = self._scheduler_at(self.last_epoch)
        if self.last_epoch in self._milestones:
            scheduler._update_lr(0)  # its first epoch, whatever rate the one before has left
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_ComposedLR):
    """Schedules at the same time: each changes the rates that the one before has left.

    Args:
        schedulers: the schedules to combine.
        optimizer: the optimiser that all the schedules have; taken from them if not given.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> decay = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> steps = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> scheduler = optim.lr_scheduler.ChainedScheduler([decay, steps])
        >>> for _ in range(2):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     print(*scheduler.get_last_lr())
        0.5
        0.125
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler: expected at least one scheduler, got none.")
        self.optimizer = optimizer or schedulers[0].optimizer
        self._check(self.optimizer, schedulers)
        self._schedulers = schedulers
        self._last_lr = rates_of(self.optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch, with every schedule in turn."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = rates_of(self.optimizer)
