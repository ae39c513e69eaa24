"""A tensor that backward needs may be given other data, but not of another form."""

import pytest

import facula
from facula import nn
from facula.nn import functional as F

MESSAGE = "needs a tensor as it was in the forward pass"


def _lstm():
    module = nn.LSTM(8, 8)
    y = module(facula.randn(3, 2, 8, requires_grad=True))[0]
    module.half()
    return y


def _attention():
    q, k, v = (facula.randn(1, 2, 8, 4, requires_grad=True) for _ in range(3))
    y = F.scaled_dot_product_attention(q, k, v)
    k.data = facula.randn(1, 1, 1, 1)
    return y


def _max_pool():
    x = facula.randn(2, 2, 8, 8, requires_grad=True)
    y = F.max_pool2d(x, 2)
    x.data = facula.randn(1, 1, 1, 1)
    return y


def _batch_norm():
    module = nn.BatchNorm1d(16)
    y = module(facula.randn(4, 16, requires_grad=True))
    module.weight.data = facula.randn(1)
    return y


@pytest.mark.promise("A6")
@pytest.mark.parametrize("forward", [_lstm, _attention, _max_pool, _batch_norm])
def test_data_of_another_form_is_refused_by_backward(forward):
    with pytest.raises(RuntimeError, match=MESSAGE):
        forward().sum().backward()


def test_data_of_the_same_form_is_taken():
    x = facula.ones(2, requires_grad=True)
    y = (x * x).sum()
    x.data = facula.tensor([3.0, 4.0])
    y.backward()
    assert x.grad.tolist() == [6.0, 8.0]
