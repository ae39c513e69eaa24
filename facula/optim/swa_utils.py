"""Averages of a model's parameters over the steps of its training."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Literal, TypeAlias

import facula
from facula import Tensor
from facula.nn import Module
from facula.nn.modules.batchnorm import _BatchNorm
from facula.optim._checks import check, must_be, one_of
from facula.optim.lr_scheduler._base import LRScheduler, Rate, per_group, warn_outside_step
from facula.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

_Tensors: TypeAlias = list[Tensor] | tuple[Tensor, ...]
_Count: TypeAlias = Tensor | int
_AvgFn: TypeAlias = Callable[[Tensor, Tensor, _Count], Tensor]
_MultiAvgFn: TypeAlias = Callable[[_Tensors, _Tensors, _Count], None]


def _check_decay(name: str, decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ValueError(f"{name}: decay must be between 0 and 1, got {decay}.")


def _move_all(averages: _Tensors, news: _Tensors, weight: float) -> None:
    """Move each average towards the new value, by the fraction ``weight``."""
    with facula.no_grad():
        for average, new in zip(averages, news, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(new, weight)
            else:
                average.copy_(average * (1 - weight) + new * weight)


def get_ema_avg_fn(decay: float = 0.999) -> _AvgFn:
    """An exponential moving average of single tensors, for ``AveragedModel(avg_fn=...)``.

    Args:
        decay: how much of the average stays at each update.

    Example:
        >>> from facula import optim
        >>> average = optim.swa_utils.get_ema_avg_fn(0.75)
        >>> average(facula.tensor(0.0), facula.tensor(1.0), 3)
        tensor(0.2500)
    """
    _check_decay("get_ema_avg_fn", decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: _Count) -> Tensor:
        with facula.no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> _MultiAvgFn:
    """An exponential moving average of lists, in place, for ``AveragedModel(multi_avg_fn=...)``.

    Args:
        decay: how much of the average stays at each update.

    Example:
        >>> from facula import optim
        >>> average, new = facula.zeros(1), facula.ones(1)
        >>> optim.swa_utils.get_ema_multi_avg_fn(0.75)([average], [new], 3)
        >>> average
        tensor([0.2500])
    """
    _check_decay("get_ema_multi_avg_fn", decay)

    def ema_update(ema_params: _Tensors, current_params: _Tensors, num_averaged: _Count) -> None:
        _move_all(ema_params, current_params, 1 - decay)

    return ema_update


def get_swa_avg_fn() -> _AvgFn:
    """The equal average of single tensors, for ``AveragedModel(avg_fn=...)``.

    Example:
        >>> from facula import optim
        >>> average = optim.swa_utils.get_swa_avg_fn()
        >>> average(facula.tensor(0.0), facula.tensor(1.0), 3)
        tensor(0.2500)
    """

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: _Count) -> Tensor:
        with facula.no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn() -> _MultiAvgFn:
    """The equal average of lists, in place, for ``AveragedModel(multi_avg_fn=...)``.

    Example:
        >>> from facula import optim
        >>> average, new = facula.zeros(1), facula.ones(1)
        >>> optim.swa_utils.get_swa_multi_avg_fn()([average], [new], 3)
        >>> average
        tensor([0.2500])
    """

    def swa_update(
        averaged_params: _Tensors, current_params: _Tensors, num_averaged: _Count
    ) -> None:
        _move_all(averaged_params, current_params, 1 / (int(num_averaged) + 1))

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of that model's over time.

    Args:
        model: the model to copy; ``update_parameters`` averages its parameters.
        device: where the averages are kept; beside the model if not given.
        avg_fn: function of the average, the new tensor and the number of models averaged that
            returns the new average; the equal average if not given.
        multi_avg_fn: function that changes a list of averages in place, in place of ``avg_fn``; the
            tensors of a list have one dtype and device.
        use_buffers: whether buffers are averaged as well; otherwise they are copied.

    Example:
        >>> from facula import nn, optim
        >>> model = nn.Linear(1, 1, bias=False)
        >>> average = optim.swa_utils.AveragedModel(model)
        >>> for value in (1.0, 2.0, 6.0):
        ...     _ = nn.init.constant_(model.weight, value)
        ...     average.update_parameters(model)
        >>> average.module.weight.item()
        3.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: int | facula.device | None = None,
        avg_fn: _AvgFn | None = None,
        multi_avg_fn: _MultiAvgFn | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("AveragedModel: give avg_fn or multi_avg_fn, not both.")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", facula.tensor(0, dtype=facula.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model gives."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of ``model`` into the averages; the first time, as they are."""
        with facula.no_grad():
            self._update(model)

    def _update(self, model: Module) -> None:
        pairs = [
            (average.detach(), new.detach().to(average.device))
            for average, new in zip(self._tensors(self.module), self._tensors(model), strict=False)
        ]
        if self.n_averaged == 0:
            for average, new in pairs:
                average.copy_(new)
        elif self.avg_fn is not None:
            for average, new in pairs:
                average.copy_(self.avg_fn(average, new, self.n_averaged.to(average.device)))
        else:
            self._update_lists(pairs)
        if not self.use_buffers:
            for buffer, new in zip(self.module.buffers(), model.buffers(), strict=True):
                buffer.copy_(new)
        self.n_averaged += 1

    def _tensors(self, model: Module) -> Iterable[Tensor]:
        buffers = model.buffers() if self.use_buffers else ()
        return itertools.chain(model.parameters(), buffers)

    def _update_lists(self, pairs: list[tuple[Tensor, Tensor]]) -> None:
        # Users' functions may use operations on lists, which take one dtype and device at a time.
        alike = defaultdict(list)
        for average, new in pairs:
            alike[average.device, average.dtype].append((average, new))
        update = self.multi_avg_fn or get_swa_multi_avg_fn()
        for (device, _), group in alike.items():
            averages, news = zip(*group, strict=True)
            update(list(averages), list(news), self.n_averaged.to(device))


def update_bn(
    loader: Iterable[Any], model: Module, device: int | facula.device | None = None
) -> None:
    """Compute the running statistics of all batch norms again, from one pass over the data.

    Averaged parameters need it: statistics do not average with them.

    Args:
        loader: the batches; if one is a list or tuple, its first element is the input.
        model: the model with batch norms; it is in training mode for the pass only.
        device: where inputs are moved to.

    Example:
        >>> from facula import nn, optim
        >>> model = nn.BatchNorm1d(1)
        >>> optim.swa_utils.update_bn([facula.tensor([[1.0], [3.0]])], model)
        >>> model.running_mean
        tensor([2.])
    """
    norms = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    if not norms:
        return
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the equal average of all batches, not one that forgets the first
    try:
        with facula.no_grad():
            for batch in loader:
                input = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(input if device is None else input.to(device))
    finally:
        for norm, momentum in norms.items():
            norm.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Moves the learning rate to ``swa_lr`` in ``anneal_epochs`` epochs, and keeps it there.

    Args:
        optimizer: the optimiser whose rates are set.
        swa_lr: the rate to reach, one for all groups or a list.
        anneal_epochs: how many epochs the change takes.
        anneal_strategy: whether rates move along a cosine, ``"cos"``, or a line, ``"linear"``.
        last_epoch: the epoch to go on from; -1 begins a new schedule.

    Example:
        >>> from facula import optim
        >>> optimizer = optim.SGD([facula.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.swa_utils.SWALR(optimizer, 0.5, 2, "linear")
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     print(*scheduler.get_last_lr())
        0.75
        0.5
        0.5
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = per_group(self, "swa_lr", optimizer, swa_lr)
        check(self, "anneal_strategy", anneal_strategy, one_of("cos", "linear"))
        is_count = must_be("an integer of at least 0", lambda n: isinstance(n, int) and n >= 0)
        check(self, "anneal_epochs", anneal_epochs, is_count)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step: int) -> float:
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[Rate]:
        warn_outside_step(self)
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates: list[Rate] = []
        for group in self.optimizer.param_groups:
            rate, target = group["lr"], group["swa_lr"]
            # Where the rate came from, whatever other schedules have made of it since.
            start = target if before == 1 else (rate - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates
