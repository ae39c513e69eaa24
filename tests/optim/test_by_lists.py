"""Optimisers as functions of lists: ``optim.adam.adam`` and the like."""

import pytest

import facula
from facula import optim
from facula.optim.adam import adam
from facula.optim.sgd import sgd

NUMBERS = {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8}
FLAGS = {"amsgrad": False, "maximize": False}


def lists_for(x):
    return [facula.zeros_like(x)], [facula.zeros_like(x)], [], [facula.tensor(0.0)]


def test_the_function_steps_as_the_class():
    x = facula.randn(3, 4)
    p = x.clone().requires_grad_()
    optimizer = optim.Adam([p], lr=0.1, betas=(0.9, 0.99), weight_decay=0.1)
    lists = lists_for(x)
    for _ in range(3):
        grad = facula.randn(3, 4)
        p.grad = grad.clone()
        optimizer.step()
        adam([x], [grad], *lists, **NUMBERS, **FLAGS)
    assert facula.equal(x, p.detach())
    assert facula.equal(lists[1][0], optimizer.state[p]["exp_avg_sq"])
    assert lists[3][0].item() == 3 and x.grad is None


def test_a_parameter_keeps_its_own_gradient():
    p = facula.ones(2, requires_grad=True)
    p.grad = facula.full((2,), 7.0)
    adam([p], [facula.ones(2)], *lists_for(p.detach()), **NUMBERS, **FLAGS)
    assert p.grad.tolist() == [7, 7] and p[0] < 1 and p.requires_grad and p.is_leaf


def test_a_differentiable_step_is_recorded():
    rate = facula.tensor(0.1, requires_grad=True)
    p = facula.ones(2, requires_grad=True)
    x = p.clone()
    numbers = {**NUMBERS, "lr": rate}
    adam([x], [facula.ones(2)], *lists_for(p.detach()), differentiable=True, **numbers, **FLAGS)
    x.sum().backward()
    assert p.grad is not None and rate.grad is not None


def test_a_momentum_that_is_none_begins():
    p, momenta = facula.ones(2), [None]
    numbers = {"weight_decay": 0.0, "momentum": 0.5, "lr": 1.0, "dampening": 0.0}
    for _ in range(2):
        sgd([p], [facula.ones(2)], momenta, nesterov=False, maximize=False, **numbers)
    assert momenta[0].tolist() == [1.5, 1.5] and p.tolist() == [-1.5, -1.5]


def test_arguments_that_are_missing_or_unknown_are_told():
    x = facula.ones(2)
    with pytest.raises(TypeError, match="adam: missing, unknown or repeated arguments: lr"):
        numbers = {k: v for k, v in NUMBERS.items() if k != "lr"}
        adam([x], [x], *lists_for(x), **numbers, **FLAGS)
    with pytest.raises(TypeError, match="arguments: speed"):
        adam([x], [x], *lists_for(x), speed=1, **NUMBERS, **FLAGS)
    with pytest.raises(RuntimeError, match="API has changed"):
        adam([x], [x], *lists_for(x)[:3], [0], **NUMBERS, **FLAGS)
    with pytest.raises(RuntimeError, match="without a scale"):
        adam([x], [x], *lists_for(x), grad_scale=facula.ones(()), **NUMBERS, **FLAGS)
