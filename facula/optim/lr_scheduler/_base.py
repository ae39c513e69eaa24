"""What all schedules of learning rates have in common."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from facula import Tensor
from facula._state_dict import check_keys
from facula._warnings import warn_user
from facula.optim.optimizer import Optimizer

__all__ = ["LRScheduler"]

Rate: TypeAlias = float | Tensor

EPOCH_WARNING = (
    "{name}: step(epoch) is deprecated. Call step() once per epoch; a schedule that has a closed "
    "form jumps to the epoch, others may not."
)


class LRScheduler:
    """Base class of the schedules: sets the learning rate of each group at every step.

    A subclass has a method ``get_lr``, which returns the rates of epoch ``self.last_epoch``, and
    may have ``_get_closed_form_lr``, which returns them without those of the epoch before.

    Args:
        optimizer: the optimiser whose groups have the rates.
        last_epoch: the epoch to go on from; -1 begins, and notes the rates as ``"initial_lr"``.

    Example:
        >>> from facula import optim
        >>> class Halving(optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [rate * 0.5**self.last_epoch for rate in self.base_lrs]
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = Halving(optimizer)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _step_count: int
    _last_lr: list[Rate]
    _needed: tuple[str, ...] = ()  # what load_state_dict cannot do without

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(self, optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{type(self).__name__}: param_groups[{i}] has no 'initial_lr', from which a "
                    f"schedule with last_epoch={last_epoch} goes on. Load the optimiser's state "
                    f"first, or begin with last_epoch=-1."
                )
        # From the groups and not from "lr": another schedule may have changed that already.
        self.base_lrs = rates_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        if optimizer._scheduled_step is None:  # the first schedule: earlier steps do not count
            optimizer._opt_called = False
        optimizer._scheduled_step = _step_of(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        # Step 0 sets the first rates. Schedules that multiply the last rate know it by the flag.
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimiser.

        Of functions nothing is saved; of objects that are called like functions, their attributes.
        """
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that ``state_dict()`` returned.

        Args:
            state_dict: the state of a schedule of the same type. The rates are not in it, but in
                that of the optimiser.

        Example:
            >>> from facula import optim
            >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
            >>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2)
            >>> other = optim.lr_scheduler.StepLR(optimizer, step_size=5)
            >>> other.load_state_dict(scheduler.state_dict())
            >>> other.step_size
            2
        """
        self._check_state(state_dict)
        self.__dict__.update(state_dict)

    def _check_state(self, state_dict: Any) -> None:
        """Raise where a state cannot be loaded, before any of it is."""
        check_keys(f"{type(self).__name__}.load_state_dict", "the state", state_dict, self._needed)

    def _check_count(self, key: str, given: list[Any], n: int) -> None:
        if len(given) != n:
            raise ValueError(
                f"{type(self).__name__}.load_state_dict: the state has {len(given)} in {key!r}, "
                f"and the scheduler {n}."
            )

    def get_last_lr(self) -> list[Rate]:
        """The rate of each group, as the last step set it."""
        return self._last_lr

    def get_lr(self) -> list[Rate]:
        """The rate of each group for epoch ``self.last_epoch``; called by ``step``."""
        raise NotImplementedError(f"{type(self).__name__}: get_lr() is not implemented.")

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch and set its rates.

        Args:
            epoch: the epoch to go to; deprecated.

        Example:
            >>> from facula import optim
            >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
            >>> scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
            >>> optimizer.step()
            >>> scheduler.step()
            >>> optimizer.param_groups[0]["lr"]
            0.5
        """
        if self._step_count == 1:  # later ones are as wrong, but one warning is enough
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warn_user(EPOCH_WARNING.format(name=type(self).__name__), UserWarning)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        name = type(self).__name__
        if self.optimizer._scheduled_step != _step_of(self.optimizer):
            warn_user(
                f"{name}: optimizer.step was replaced after the scheduler was made, so that the "
                f"order of the two is unknown. Call optimizer.step() before scheduler.step().",
                UserWarning,
            )
        elif not self.optimizer._opt_called:
            warn_user(
                f"{name}: scheduler.step() was called before optimizer.step(), which skips the "
                f"first rate of the schedule. Call optimizer.step() first.",
                UserWarning,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        closed_form: Callable[[], list[Rate]] | None = None
        if epoch is None:
            self.last_epoch += 1
        else:  # the rate of the epoch before is unknown, so the recursive form cannot be used
            self.last_epoch = epoch
            closed_form = getattr(self, "_get_closed_form_lr", None)
        with _enable_get_lr_call(self):
            rates = (closed_form or self.get_lr)()
        self._set_rates(rates)

    def _set_rates(self, rates: Sequence[Rate]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = rates_of(self.optimizer)


def _step_of(optimizer: Optimizer) -> Any:
    # The function: a bound method is another object each time it is asked for.
    return getattr(optimizer.step, "__func__", optimizer.step)


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def check_optimizer(scheduler: LRScheduler, optimizer: object) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            f"{type(scheduler).__name__}: expected an Optimizer, got {type(optimizer).__name__}."
        )


@contextmanager
def _enable_get_lr_call(scheduler: LRScheduler) -> Iterator[None]:
    """While ``step`` calls ``get_lr``; schedules of users' own enter it by this name."""
    scheduler._get_lr_called_within_step = True
    try:
        yield
    finally:
        scheduler._get_lr_called_within_step = False


def warn_outside_step(scheduler: LRScheduler) -> None:
    if not scheduler._get_lr_called_within_step:
        warn_user(
            f"{type(scheduler).__name__}: get_lr() computes the next rates. The last ones are "
            f"those of get_last_lr().",
            UserWarning,
        )


def rates_of(optimizer: Optimizer, key: str = "lr") -> list[Any]:
    """An option of each group; copies where it is a tensor, which is changed in place."""
    return [_copy(group[key]) for group in optimizer.param_groups]


def set_option(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option; in place where it is a tensor, which others may hold."""
    if isinstance(group[key], Tensor):
        group[key].fill_(float(value))
    else:
        group[key] = value


def per_group(scheduler: LRScheduler, name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """An argument that is one value for all groups, or a list of one for each."""
    n_groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [_copy(value) for _ in range(n_groups)]
    if len(value) != n_groups:
        raise ValueError(
            f"{type(scheduler).__name__}: {name} has {len(value)} values for {n_groups} parameter "
            f"groups."
        )
    return [_copy(one) for one in value]


def saved_function(function: Callable[..., Any] | None) -> dict[str, Any] | None:
    """What can be saved of a function: the attributes of an object that is called as one."""
    if function is None or isinstance(function, types.FunctionType):
        return None
    return dict(function.__dict__)
