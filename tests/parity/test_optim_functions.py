"""Optimisers as functions of lists, against PyTorch's."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch

from .frameworks import facula

# The arguments between the gradients and the flags, in order, with what fills them at first: a
# float for lists of states as large as the parameters, an int for lists of numbers.
MOMENTS = {"exp_avgs": 0.0, "exp_avg_sqs": 0.0}
LARGEST = {**MOMENTS, "max_exp_avg_sqs": 0.0, "state_steps": 0}
BETAS = {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8}
ASGD = {"lambd": 1e-2, "lr": 0.1, "t0": 1.0, "alpha": 0.75, "weight_decay": 0.1}
RMSPROP = {"lr": 0.1, "alpha": 0.9, "eps": 1e-8, "weight_decay": 0.1, "momentum": 0.9}
RPROP = {"step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2}
DECAY = {"lr": 0.1, "weight_decay": 0.1, "eps": 1e-6}
FUNCTIONS: dict[str, tuple[dict[str, float], dict[str, Any]]] = {
    "adadelta": (
        {"square_avgs": 0.0, "acc_deltas": 0.0, "state_steps": 0},
        {**DECAY, "rho": 0.9, "maximize": True},
    ),
    "adagrad": (
        {"state_sums": 0.1, "state_steps": 0},
        {**DECAY, "lr_decay": 0.1, "maximize": False},
    ),
    "adam": (LARGEST, {**BETAS, "amsgrad": True, "maximize": False}),
    "adamax": ({"exp_avgs": 0.0, "exp_infs": 0.0, "state_steps": 0}, BETAS),
    "adamw": (LARGEST, {**BETAS, "amsgrad": True, "maximize": True}),
    "asgd": ({"axs": 0.0, "mus": 1, "etas": 1, "state_steps": 0}, ASGD),
    "nadam": ({**MOMENTS, "mu_products": 1, "state_steps": 0}, {**BETAS, "momentum_decay": 4e-3}),
    "radam": ({**MOMENTS, "state_steps": 0}, BETAS),
    "rmsprop": (
        {"square_avgs": 0.0, "grad_avgs": 0.0, "momentum_buffer_list": 0.0, "state_steps": 0},
        {**RMSPROP, "centered": True},
    ),
    "rprop": ({"prevs": 0.0, "step_sizes": 0.1, "state_steps": 0}, RPROP),
}


def _function(lib: Any, name: str) -> Any:
    return getattr(import_module(f"{lib.__name__}.optim.{name}"), name)


def _run(lib: Any, name: str) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = [(3, 4), (5,)]
    params = [lib.from_numpy(rng.standard_normal(s)).requires_grad_() for s in shapes]
    start, options = FUNCTIONS[name]
    lists = [
        [lib.full_like(p, v).detach() for p in params]
        if isinstance(v, float)
        else [lib.tensor(float(v)) for _ in params]
        for v in start.values()
    ]
    for _ in range(4):
        grads = [lib.from_numpy(rng.standard_normal(s)) for s in shapes]
        with lib.no_grad():
            _function(lib, name)(params, grads, *lists, **options)
    assert all(p.grad is None for p in params)
    return [x.detach().numpy() for each in [params, *lists] for x in each]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_step_as_pytorchs(name: str) -> None:
    for theirs, ours in zip(_run(torch, name), _run(facula, name), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("momentum, nesterov", [(0.0, False), (0.9, False), (0.9, True)])
def test_sgd_fills_its_list_of_momenta(momentum: float, nesterov: bool) -> None:
    def run(lib: Any) -> list[Any]:
        p, buffers = lib.ones(3), [None]
        flags = {"nesterov": nesterov, "maximize": False}
        for k in range(3):
            numbers = {"weight_decay": 0.1, "momentum": momentum, "lr": 0.1, "dampening": 0.0}
            _function(lib, "sgd")([p], [lib.full((3,), k + 1.0)], buffers, **numbers, **flags)
        return [p.numpy(), -1 if buffers[0] is None else buffers[0].numpy()]

    for theirs, ours in zip(run(torch), run(facula), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


def test_numbers_must_be_tensors() -> None:
    options = FUNCTIONS["adagrad"][1]
    for lib in (torch, facula):
        with pytest.raises(RuntimeError, match="API has changed"):
            _function(lib, "adagrad")([lib.ones(2)], [lib.ones(2)], [lib.ones(2)], [0], **options)
