"""Rounding to integers and to decimals."""

import numpy as np
import pytest

import facula
from check_op import FLOATING, INTEGRAL, check_op

STEPS = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "fix": np.trunc, "round": np.round}


@pytest.mark.parametrize("name", STEPS)
def test_rounding_agrees_with_numpy(name):
    for dtypes in (FLOATING, INTEGRAL):
        check_op(
            getattr(facula, name),
            STEPS[name],
            [(3, 4)],
            dtypes=dtypes,
            low=-9,
            high=9,
            elementwise=True,
            differentiable=False,
        )


@pytest.mark.promise("T5")
@pytest.mark.parametrize("name", STEPS)
def test_rounding_in_place_writes_the_same_and_gives_a_gradient_of_zero(name):
    x = facula.tensor([-2.5, -0.5, 0.5, 1.5, 1.75], requires_grad=True)
    for place in (facula, facula.Tensor):
        y = x * 1
        assert getattr(place, name + "_")(y) is y
        assert y.tolist() == STEPS[name](x.detach().numpy()).tolist()
        y.sum().backward()
        assert x.grad.tolist() == [0] * 5


@pytest.mark.parametrize("decimals, expected", [(1, [1.2, -3.8]), (0, [1, -4]), (-1, [0, -0.0])])
def test_round_keeps_decimals(decimals, expected):
    x = facula.tensor([1.23, -3.77], dtype=facula.float64)
    assert facula.round(x, decimals=decimals).tolist() == pytest.approx(expected)
    assert x.round_(decimals=decimals) is x
    assert x.tolist() == pytest.approx(expected)


def test_halves_are_rounded_to_the_even_neighbour():
    x = facula.tensor([-1.5, -0.5, 0.5, 1.5, 2.5])
    assert x.round_().tolist() == [-2, 0, 0, 2, 2]
