import math

import pytest

import facula
from facula import nn

pytestmark = pytest.mark.promise("N2")


def parameters(*grads):
    made = [nn.Parameter(facula.zeros(len(grad))) for grad in grads]
    for p, grad in zip(made, grads, strict=True):
        p.grad = facula.tensor(grad)
    return made


def test_all_gradients_are_scaled_by_one_factor():
    p = [*parameters([3.0], [4.0]), nn.Parameter(facula.ones(1))]
    assert nn.utils.clip_grad_norm_(p, 1.0).item() == 5.0
    assert [round(q.grad.item(), 4) for q in p[:2]] == [0.6, 0.8]
    assert p[2].grad is None


def test_a_small_norm_changes_nothing():
    (p,) = parameters([3.0, 4.0])
    nn.utils.clip_grad_norm_(p, 10.0)
    assert p.grad.tolist() == [3.0, 4.0]


def test_the_norm_may_be_the_largest_element():
    assert nn.utils.clip_grad_norm_(parameters([3.0], [-4.0]), 1.0, math.inf).item() == 4.0


def test_a_norm_that_is_not_finite_is_refused_on_request_and_changes_nothing():
    p = parameters([math.nan], [4.0])
    with pytest.raises(
        RuntimeError,
        match=r"expected a finite total norm, got (inf|nan) for the norm of order 2\.0",
    ):
        nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    assert p[1].grad.item() == 4.0


def test_an_empty_generator_is_noticed():
    with pytest.warns(UserWarning, match="got a generator that yields nothing"):
        nn.utils.clip_grad_norm_((p for p in ()), 1.0)


def test_values_are_limited_one_by_one():
    (p,) = parameters([3.0, -4.0, 0.5])
    nn.utils.clip_grad_value_(p, 1.0)
    assert p.grad.tolist() == [1.0, -1.0, 0.5]
