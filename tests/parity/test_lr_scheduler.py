"""Schedules of learning rates against PyTorch: every rate of every epoch, bit for bit."""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import Any

import pytest
import torch

from .frameworks import facula
from .ops import load_module

# A sequence in a sequence warns of its own first step, in PyTorch and here.
pytestmark = [
    pytest.mark.promise("N6"),
    pytest.mark.filterwarnings("ignore:.*before .?optimizer.step"),
]

N_EPOCHS = 33


class Warmup:
    """A function with a state, which schedules save."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, epoch: int) -> float:
        return min(1.0, (epoch + 1) / self.n)


def plain(name: str, *args: Any, **kwargs: Any) -> Any:
    return lambda s, o: getattr(s, name)(o, *args, **kwargs)


def sequential(s: Any, o: Any) -> Any:
    parts = [s.LinearLR(o, 0.1, total_iters=4), s.ExponentialLR(o, 0.9), s.StepLR(o, 3, 0.5)]
    return s.SequentialLR(o, parts, [4, 11])


def nested(s: Any, o: Any) -> Any:
    inner = s.SequentialLR(o, [s.ConstantLR(o, 0.1, 5), s.CosineAnnealingLR(o, 7)], [3])
    return s.SequentialLR(o, [inner, s.PolynomialLR(o, 9, 2.0)], [12])


SCHEDULERS = {
    "LambdaLR": plain("LambdaLR", lambda epoch: 0.95**epoch),
    "LambdaLR-list": plain("LambdaLR", [lambda epoch: 1 / (epoch + 1), Warmup(5)]),
    "MultiplicativeLR": plain("MultiplicativeLR", lambda epoch: 0.95),
    "MultiplicativeLR-object": plain("MultiplicativeLR", Warmup(9)),
    "StepLR": plain("StepLR", 3, gamma=0.3),
    "MultiStepLR": plain("MultiStepLR", [2, 5, 5, 9], gamma=0.3),
    "ConstantLR": plain("ConstantLR", 0.3, 4),
    "LinearLR": plain("LinearLR"),
    "LinearLR-down": plain("LinearLR", 1.0, 0.2, 7),
    "ExponentialLR": plain("ExponentialLR", 0.9),
    "PolynomialLR": plain("PolynomialLR", 9, 1.7),
    "CosineAnnealingLR": plain("CosineAnnealingLR", 7, eta_min=0.01),
    "CosineAnnealingWarmRestarts": plain("CosineAnnealingWarmRestarts", 3, 2, eta_min=0.01),
    "CyclicLR": plain("CyclicLR", 0.1, [0.5, 0.9], step_size_up=4, step_size_down=3),
    "CyclicLR-triangular2": plain("CyclicLR", 0.1, 0.9, step_size_up=4, mode="triangular2"),
    "CyclicLR-exp_range": plain(
        "CyclicLR", 0.1, 0.9, step_size_up=4, mode="exp_range", gamma=0.97, cycle_momentum=False
    ),
    "CyclicLR-function": plain(
        "CyclicLR", 0.1, 0.9, step_size_up=4, scale_fn=Warmup(9), scale_mode="iterations"
    ),
    "OneCycleLR": plain("OneCycleLR", [0.5, 0.9], total_steps=40),
    "OneCycleLR-three_phase": plain(
        "OneCycleLR", 0.9, epochs=8, steps_per_epoch=5, anneal_strategy="linear", three_phase=True
    ),
    "SequentialLR": sequential,
    "SequentialLR-nested": nested,
    "ChainedScheduler": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.1, 5), s.ExponentialLR(o, 0.9)], optimizer=o
    ),
    "SWALR": lambda s, o: _swa(s).SWALR(o, [0.05, 0.01], anneal_epochs=6),
    "SWALR-linear": lambda s, o: _swa(s).SWALR(o, 0.05, 0, "linear"),
}
# Those that jump to an epoch.
CLOSED = [
    "StepLR",
    "MultiStepLR",
    "ConstantLR",
    "LinearLR",
    "LinearLR-down",
    "ExponentialLR",
    "PolynomialLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "LambdaLR",
]
BOTH = [torch, facula]


def _swa(schedulers: Any) -> Any:
    return (facula if schedulers.__name__.startswith("facula") else torch).optim.swa_utils


def make_optimizer(lib: Any, name: str = "SGD", rate: Any = 0.5) -> Any:
    a, b = (lib.ones(1, requires_grad=True) for _ in range(2))
    options = {"momentum": 0.9} if name == "SGD" else {}
    return getattr(lib.optim, name)([{"params": [a]}, {"params": [b], "lr": 0.3}], rate, **options)


def observed(optimizer: Any, scheduler: Any) -> list[Any]:
    keys = ("lr", "momentum", "betas", "initial_lr", "max_lr", "min_lr")
    groups = [[group.get(key) for key in keys] for group in optimizer.param_groups]
    return [scheduler.get_last_lr(), scheduler.last_epoch if _counts(scheduler) else None, groups]


def _counts(scheduler: Any) -> bool:
    return type(scheduler).__name__ != "ChainedScheduler"


def run(lib: Any, make: Any, optimizer_name: str = "SGD") -> list[Any]:
    optimizer = make_optimizer(lib, optimizer_name)
    scheduler = make(lib.optim.lr_scheduler, optimizer)
    seen = [observed(optimizer, scheduler)]
    for _ in range(N_EPOCHS):
        optimizer.step()
        scheduler.step()
        seen.append(observed(optimizer, scheduler))
    return seen


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("optimizer_name", ["SGD", "Adam"])
def test_rates_agree(name, optimizer_name):
    expected, actual = (run(lib, copy.deepcopy(SCHEDULERS[name]), optimizer_name) for lib in BOTH)
    assert actual == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CLOSED)
def test_jumps_to_an_epoch_agree(name):
    results = []
    for lib in BOTH:
        optimizer = make_optimizer(lib)
        scheduler = SCHEDULERS[name](lib.optim.lr_scheduler, optimizer)
        seen = []
        for epoch in (3, 1, 20, 8, 9):
            scheduler.step(epoch)
            seen.append(observed(optimizer, scheduler))
        results.append(seen)
    assert results[1] == results[0]


@pytest.mark.parametrize("name", SCHEDULERS)
def test_states_are_exchanged_both_ways(name):
    expected = run(torch, copy.deepcopy(SCHEDULERS[name]))
    states = {}
    optimizers, schedulers = [], []
    for lib in BOTH:
        optimizer = make_optimizer(lib)
        optimizers.append(optimizer)
        schedulers.append(copy.deepcopy(SCHEDULERS[name])(lib.optim.lr_scheduler, optimizer))
    seen = [observed(optimizers[0], schedulers[0])]
    for epoch in range(N_EPOCHS):  # in turns, each going on where the other one was
        here, there = epoch % 2, 1 - epoch % 2
        optimizers[here].step()
        schedulers[here].step()
        seen.append(observed(optimizers[here], schedulers[here]))
        states = copy.deepcopy(schedulers[here].state_dict())
        schedulers[there].load_state_dict(states)
        for to, source in zip(
            optimizers[there].param_groups, optimizers[here].param_groups, strict=True
        ):
            to.update({key: value for key, value in source.items() if key != "params"})
        optimizers[there].step()
    assert seen == expected


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_tensor_as_rate_is_changed_in_place(name):
    seen = []
    for lib in BOTH:
        rate = lib.tensor(0.5)
        optimizer = lib.optim.SGD([lib.ones(1, requires_grad=True)], rate, momentum=0.9)
        if "list" in name or name in ("CyclicLR", "OneCycleLR", "SWALR"):
            pytest.skip("has values for two groups")
        scheduler = copy.deepcopy(SCHEDULERS[name])(lib.optim.lr_scheduler, optimizer)
        for _ in range(N_EPOCHS):
            optimizer.step()
            scheduler.step()
        assert optimizer.param_groups[0]["lr"] is rate
        seen.append(rate.item())
    assert seen[1] == pytest.approx(seen[0], rel=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "max", "patience": 2},
        {"threshold_mode": "abs", "threshold": 0.1, "patience": 1, "cooldown": 2},
        {"factor": 0.5, "patience": 0, "min_lr": [0.05, 0.01]},
    ],
    ids=str,
)
def test_a_plateau_agrees(options):
    metrics = [5.0, 4.0, 4.1, 3.99, 3.99, 4.5, 5.0, 2.0, 2.0, 1.95, 2.0, 2.1, 2.2, float("nan")] * 3
    results = []
    for lib in BOTH:
        optimizer = make_optimizer(lib)
        scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        seen = []
        for metric in metrics:
            scheduler.step(lib.tensor(metric))
            seen.append((observed(optimizer, scheduler), scheduler.best, scheduler.in_cooldown))
        results.append((seen, scheduler.state_dict()))
    assert results[1] == results[0]


@pytest.mark.parametrize("name", torch.optim.lr_scheduler.__all__)
def test_arguments_and_defaults_are_those_of_pytorch(name):
    def arguments(lib: Any) -> list[Any]:
        signature = inspect.signature(getattr(lib.optim.lr_scheduler, name).__init__)
        return [(p.name, p.default, p.kind) for p in signature.parameters.values()]

    assert arguments(facula) == arguments(torch)


def _optimizers() -> dict[str, Any]:
    return {info.name: info for info in load_module("common_optimizers").optim_db}


@pytest.mark.parametrize("name", _optimizers())
def test_the_schedulers_of_pytorchs_list_of_optimizers_are_there(name):
    for makers in _optimizers()[name].scheduler_inputs:
        theirs = torch.ones(1, requires_grad=True)
        for make in makers:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = make(torch.optim.SGD([theirs], 0.1))
            assert hasattr(facula.optim.lr_scheduler, type(made).__name__)


BAD = {
    "no optimizer": lambda s, o: s.StepLR(3, 1),
    "no optimizer: plateau": lambda s, o: s.ReduceLROnPlateau(3),
    "no optimizer: cyclic": lambda s, o: s.CyclicLR(3, 0.1, 0.2),
    "no optimizer: one cycle": lambda s, o: s.OneCycleLR(3, 0.1, 5),
    "resumed": lambda s, o: s.StepLR(o, 3, last_epoch=4),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda epoch: 1.0]),
    "factors": lambda s, o: s.MultiplicativeLR(o, [lambda epoch: 1.0]),
    "no function": lambda s, o: s.MultiplicativeLR(o, 3),
    "constant": lambda s, o: s.ConstantLR(o, 1.5),
    "linear start": lambda s, o: s.LinearLR(o, 0.0),
    "linear end": lambda s, o: s.LinearLR(o, 0.5, 1.5),
    "no schedulers": lambda s, o: s.SequentialLR(o, [], []),
    "milestones": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2)], [3]),
    "a number": lambda s, o: s.SequentialLR(o, [3], []),
    "plateau": lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
    "other optimizer": lambda s, o: s.SequentialLR(o, [s.StepLR(copy.deepcopy(o), 2)], []),
    "chain of none": lambda s, o: s.ChainedScheduler([]),
    "chain of numbers": lambda s, o: s.ChainedScheduler([3], o),
    "chain with plateau": lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
    "plateau factor": lambda s, o: s.ReduceLROnPlateau(o, factor=1.0),
    "plateau mode": lambda s, o: s.ReduceLROnPlateau(o, mode="mid"),
    "plateau threshold": lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="mid"),
    "plateau rates": lambda s, o: s.ReduceLROnPlateau(o, min_lr=[1.0]),
    "cyclic mode": lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="square"),
    "cyclic rates": lambda s, o: s.CyclicLR(o, [0.1], 0.2),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "restart factor": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 0),
    "restart rate": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 1, "0"),
    "restart epoch": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2).step(-1),
    "one cycle steps": lambda s, o: s.OneCycleLR(o, 0.1),
    "one cycle total": lambda s, o: s.OneCycleLR(o, 0.1, 0),
    "one cycle epochs": lambda s, o: s.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=2),
    "one cycle part": lambda s, o: s.OneCycleLR(o, 0.1, 5, pct_start=2.0),
    "one cycle strategy": lambda s, o: s.OneCycleLR(o, 0.1, 5, anneal_strategy="up"),
    "swa strategy": lambda s, o: _swa(s).SWALR(o, 0.1, anneal_strategy="up"),
    "swa epochs": lambda s, o: _swa(s).SWALR(o, 0.1, anneal_epochs=-1),
    "swa rates": lambda s, o: _swa(s).SWALR(o, [0.1]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused_as_in_pytorch(name):
    with pytest.raises(Exception) as expected:
        BAD[name](torch.optim.lr_scheduler, make_optimizer(torch))
    with pytest.raises(expected.type):
        BAD[name](facula.optim.lr_scheduler, make_optimizer(facula))
