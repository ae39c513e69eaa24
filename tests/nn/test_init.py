import math

import pytest

import facula
from facula import nn
from facula.nn import init

pytestmark = pytest.mark.promise("N2")


def test_default_weights_are_those_of_pytorch():
    facula.manual_seed(0)
    m = nn.Linear(2, 2)
    assert m.weight.tolist() == [
        [-0.005293981172144413, 0.37932288646698],
        [-0.5819807648658752, -0.5203874707221985],
    ]
    assert m.bias.tolist() == [-0.27234524488449097, 0.1896158903837204]


@pytest.mark.parametrize(
    "name, gain", [("linear", 1.0), ("tanh", 5 / 3), ("relu", math.sqrt(2)), ("selu", 0.75)]
)
def test_gains(name, gain):
    assert init.calculate_gain(name) == gain


def test_an_unknown_nonlinearity_is_refused():
    with pytest.raises(ValueError, match=r"calculate_gain: expected nonlinearity .* got 'swish'"):
        init.calculate_gain("swish")


@pytest.mark.parametrize("fill", [init.xavier_uniform_, init.kaiming_normal_, init.orthogonal_])
def test_a_vector_is_refused(fill):
    with pytest.raises(ValueError):
        fill(facula.empty(3))


def test_fills_do_not_record():
    p = nn.Parameter(facula.empty(3, 3))
    for fill in (init.ones_, init.eye_, init.normal_, init.trunc_normal_, init.orthogonal_):
        assert fill(p) is p
        assert p.is_leaf


def test_truncated_numbers_are_inside():
    for low, high in ((-1.0, 1.0), (2.0, 2.5)):
        w = init.trunc_normal_(facula.empty(1000), a=low, b=high)
        assert w.min() >= low
        assert w.max() <= high


def test_dirac_hands_channels_on():
    w = init.dirac_(facula.empty(4, 2, 3), groups=2)
    assert w[:, :, 1].tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    assert w.sum().item() == 4


def test_of_no_elements_nothing_is_drawn():
    with pytest.warns(UserWarning, match="kaiming_uniform_: the tensor has no elements to fill"):
        init.kaiming_uniform_(facula.empty(0, 3))


def test_old_names_warn():
    with pytest.warns(FutureWarning, match="nn.init.normal_"):
        init.normal(facula.empty(2))
