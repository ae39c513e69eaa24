"""Schedules that raise the learning rate and lower it again, and the momentum against it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, TypedDict, cast

from facula.optim._checks import check, integer_above_0, must_be, one_of
from facula.optim.lr_scheduler._base import (
    LRScheduler,
    Rate,
    check_optimizer,
    per_group,
    saved_function,
    set_option,
    warn_outside_step,
)
from facula.optim.optimizer import Optimizer

__all__ = ["CyclicLR", "OneCycleLR"]


class _MomentumLR(LRScheduler):
    """A schedule that moves the momentum, or the first of Adam's betas, with the rate."""

    use_beta1: bool

    def _start_momentum(self, optimizer: Optimizer, base: Any, top: Any, is_new: bool) -> None:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                f"{type(self).__name__}: cycle_momentum needs an optimiser with momentum or betas. "
                f"{type(optimizer).__name__} has neither: pass cycle_momentum=False."
            )
        self.use_beta1 = "betas" in optimizer.defaults
        self._base_momentums = per_group(self, "base_momentum", optimizer, base)
        self._max_momentums = per_group(self, "max_momentum", optimizer, top)
        if not is_new:
            return
        for group, low, high in zip(
            optimizer.param_groups, self._base_momentums, self._max_momentums, strict=True
        ):
            self._set_momentum(group, high)
            group["max_momentum"] = high
            group["base_momentum"] = low

    def _set_momentum(self, group: dict[str, Any], value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_MomentumLR):
    """Moves the learning rate between two bounds, in triangles; to be stepped after every batch.

    Args:
        optimizer: the optimiser whose rates are set.
        base_lr: the lower bound of the rate, one for all groups or a list.
        max_lr: the upper bound of the rate, one for all groups or a list.
        step_size_up: steps from the lower to the upper bound.
        step_size_down: steps from the upper bound back; ``step_size_up`` if not given.
        mode: the heights: ``"triangular"``, ``"triangular2"`` (each half of the one before) or
            ``"exp_range"`` (``gamma`` to the power of the step).
        gamma: base of the powers that are the heights in mode ``"exp_range"``.
        scale_fn: function that gives the height of a triangle, in place of ``mode``.
        scale_mode: whether ``scale_fn`` takes the number of the ``"cycle"`` or of the step,
            ``"iterations"``.
        cycle_momentum: moves the momentum against the rate: down while the rate rises.
        base_momentum: the lower bound of the momentum.
        max_momentum: the upper bound of the momentum.
        last_epoch: the step to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
        >>> scheduler = optim.lr_scheduler.CyclicLR(optimizer, 1.0, 2.0, step_size_up=2)
        >>> for _ in range(4):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     print(*scheduler.get_last_lr())
        1.5
        2.0
        1.5
        1.0
    """

    _needed = ("_scale_fn_custom",)

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(self, optimizer)
        self.optimizer = optimizer
        base_lrs = per_group(self, "base_lr", optimizer, base_lr)
        self.max_lrs = per_group(self, "max_lr", optimizer, max_lr)
        if scale_fn is None:
            check(self, "mode", mode, one_of("triangular", "triangular2", "exp_range"))
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                set_option(group, "lr", rate)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        if scale_fn is None:
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode = scale_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
            self.base_momentums = self._base_momentums
            self.max_momentums = self._max_momentums
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs  # those of the constructor above are the rates found in the groups

    def scale_fn(self, x: float) -> float:
        """The height of the triangle, for the number of the cycle or of the step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return cast(float, 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x)

    def get_lr(self) -> list[Rate]:
        warn_outside_step(self)
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        is_rising = x <= self.step_ratio
        height = x / self.step_ratio if is_rising else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [
            low + (high - low) * height * scale
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        hidden = ("_base_momentums", "_max_momentums")  # PyTorch's states do not have these
        state = {key: value for key, value in super().state_dict().items() if key not in hidden}
        return {**state, "_scale_fn_custom": saved_function(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        function = self._scale_fn_custom
        super().load_state_dict(state_dict)
        self._scale_fn_custom = function
        saved = state_dict["_scale_fn_custom"]
        if function is not None and saved is not None:
            function.__dict__.update(saved)


_part_of_cycle = must_be(
    "a float between 0 and 1", lambda part: isinstance(part, float) and 0 <= part <= 1
)


class _Phase(TypedDict):
    end_step: float
    start_lr: str
    end_lr: str
    start_momentum: str
    end_momentum: str


class OneCycleLR(_MomentumLR):
    """Raises the learning rate to ``max_lr`` and lowers it to almost nothing, once.

    To be stepped after every batch, ``total_steps`` times at most.

    Args:
        optimizer: the optimiser whose rates are set.
        max_lr: the highest rate, one for all groups or a list.
        total_steps: steps of the whole cycle; if not given, ``epochs * steps_per_epoch``.
        epochs: how many epochs the whole cycle has.
        steps_per_epoch: how many steps an epoch has.
        pct_start: the part of the cycle that rises.
        anneal_strategy: whether rates move along a cosine, ``"cos"``, or a line, ``"linear"``.
        cycle_momentum: moves the momentum against the rate: down while the rate rises.
        base_momentum: the lower bound of the momentum, one for all groups or a list.
        max_momentum: the upper bound of the momentum, one for all groups or a list.
        div_factor: the first rate is ``max_lr / div_factor``.
        final_div_factor: the last rate is the first one divided by this.
        three_phase: falls to the first rate as fast as it rose, and then to the last.
        last_epoch: the step to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
        >>> scheduler = optim.lr_scheduler.OneCycleLR(
        ...     optimizer, max_lr=1.0, total_steps=5, pct_start=0.4, div_factor=2.0
        ... )
        >>> for _ in range(4):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     print(f"{scheduler.get_last_lr()[0]:.3f}")
        1.000
        0.750
        0.250
        0.000
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(self, optimizer)
        self.optimizer = optimizer
        self.total_steps = self._count_steps(total_steps, epochs, steps_per_epoch)
        check(self, "pct_start", pct_start, _part_of_cycle)
        check(self, "anneal_strategy", anneal_strategy, one_of("cos", "linear"))
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = _phases(float(pct_start * self.total_steps), self.total_steps)
        if not three_phase:
            first, _, last = self._schedule_phases
            self._schedule_phases = [first, _phase(last["end_step"], "max_lr", "min_lr", -1)]
        max_lrs = per_group(self, "max_lr", optimizer, max_lr)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
            del self._base_momentums, self._max_momentums  # state_dict would save them
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        super().__init__(optimizer, last_epoch)

    def _count_steps(
        self, total_steps: int | None, epochs: int | None, steps_per_epoch: int | None
    ) -> int:
        counts = {"total_steps": total_steps, "epochs": epochs, "steps_per_epoch": steps_per_epoch}
        for name, value in counts.items():
            if value is not None:
                check(self, name, value, integer_above_0)
        if total_steps is not None:
            return total_steps
        if epochs is None or steps_per_epoch is None:
            raise ValueError("OneCycleLR: give total_steps, or both epochs and steps_per_epoch.")
        return epochs * steps_per_epoch

    def _between(self, start: Any, end: Any, part: float) -> Any:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start

    def get_lr(self) -> list[Rate]:
        warn_outside_step(self)
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"OneCycleLR: step {step} is beyond the {self.total_steps} steps of the cycle."
            )
        start_step = 0.0
        for phase in self._schedule_phases:
            # The last phase ends at total_steps - 1, and one step more is let pass, as in PyTorch.
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start_step = phase["end_step"]
        part = (step - start_step) / (phase["end_step"] - start_step)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                start, end = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(start, end, part))
        return rates


def _phase(end_step: float, start: str, end: str, direction: int) -> _Phase:
    """A part of the cycle; the momentum goes against the direction of the rate, or stays."""
    momentum = {1: ("max", "base"), -1: ("base", "max"), 0: ("max", "max")}[direction]
    return {
        "end_step": end_step,
        "start_lr": start,
        "end_lr": end,
        "start_momentum": f"{momentum[0]}_momentum",
        "end_momentum": f"{momentum[1]}_momentum",
    }


def _phases(n_rising: float, total_steps: int) -> list[_Phase]:
    return [
        _phase(n_rising - 1, "initial_lr", "max_lr", 1),
        _phase(2 * n_rising - 2, "max_lr", "initial_lr", -1),
        _phase(total_steps - 1, "initial_lr", "min_lr", 0),
    ]
