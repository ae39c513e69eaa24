from collections import OrderedDict

import pytest

import facula
from facula import nn
from facula.vision.models._utils import (
    IntermediateLayerGetter,
    _make_divisible,
    _ovewrite_named_param,
    _ovewrite_value_param,
)

pytestmark = pytest.mark.promise("D3")


def test_layers_after_the_last_one_wanted_are_left_out():
    body = nn.Sequential(OrderedDict(a=nn.Linear(2, 3), b=nn.ReLU(), c=nn.Linear(3, 4)))
    cut = IntermediateLayerGetter(body, {"b": "features"})
    assert list(cut) == ["a", "b"]
    assert cut.a is body.a
    assert list(cut.state_dict()) == ["a.weight", "a.bias"]
    assert {k: v.shape for k, v in cut(facula.ones(1, 2)).items()} == {"features": (1, 3)}


def test_a_layer_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match="Sequential has no layer 'x'; it has 0"):
        IntermediateLayerGetter(nn.Sequential(nn.ReLU()), {"x": "features"})


def test_channels_are_rounded_but_lose_no_more_than_a_tenth():
    assert [_make_divisible(v, 8) for v in (1, 7.9, 11, 12, 36, 100.5)] == [8, 8, 16, 16, 40, 104]
    assert _make_divisible(3, 8, min_value=4) == 4


def test_weights_and_arguments_must_agree():
    kwargs = {"num_classes": 10}
    with pytest.raises(ValueError, match="num_classes: the weights need 1000, got 10"):
        _ovewrite_named_param(kwargs, "num_classes", 1000)
    _ovewrite_named_param(kwargs, "aux_loss", True)
    assert kwargs == {"num_classes": 10, "aux_loss": True}
    assert _ovewrite_value_param("aux_loss", None, True) is True
