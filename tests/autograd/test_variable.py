"""The historic Variable."""

import pytest

import facula
from facula.autograd import Variable

pytestmark = pytest.mark.promise("A9")


def test_a_variable_is_a_tensor_that_shares_memory():
    data = facula.ones(2)
    variable = Variable(data, requires_grad=True)
    assert isinstance(variable, facula.Tensor)
    assert isinstance(variable, Variable)
    assert isinstance(data, Variable)
    assert variable.data_ptr() == data.data_ptr()
    assert variable.requires_grad
    assert not data.requires_grad


def test_a_volatile_input_makes_every_output_volatile():
    x = Variable(facula.ones(2), volatile=True)
    w = Variable(facula.ones(2), requires_grad=True)
    y = (x * w).sum().exp()
    assert y.volatile
    assert not y.requires_grad
    assert y.grad_fn is None
    assert not (w * 2).volatile


def test_creator_is_the_old_name_of_grad_fn():
    w = Variable(facula.ones(2), requires_grad=True)
    y = w * 2
    assert y.creator is y.grad_fn
    assert w.creator is None


def test_volatile_and_requires_grad_exclude_each_other():
    with pytest.raises(RuntimeError, match="cannot both require grad and be volatile"):
        Variable(facula.ones(2), requires_grad=True, volatile=True)


@pytest.mark.parametrize("value", [3, None, "yes"])
def test_requires_grad_takes_only_a_bool(value):
    x = facula.ones(2)
    with pytest.raises(RuntimeError, match="requires_grad: expected a bool"):
        x.requires_grad = value
    assert not x.requires_grad


def test_data_must_be_a_tensor():
    with pytest.raises(TypeError, match="Variable: expected data to be a tensor, got list"):
        Variable([1.0])
