import copy
import pickle

import pytest

import facula
from facula import nn

pytestmark = pytest.mark.promise("N1")


def test_a_parameter_shares_the_memory_of_its_data():
    data = facula.ones(2)
    p = nn.Parameter(data)
    assert p.data_ptr() == data.data_ptr()
    assert p.requires_grad
    assert p.is_leaf


def test_results_of_operations_are_plain_tensors():
    p = nn.Parameter(facula.ones(2))
    assert {type(p + 1), type(p.clone()), type(p.detach()), type(p.data)} == {facula.Tensor}


def test_an_integer_parameter_that_requires_grad_is_refused():
    with pytest.raises(RuntimeError):
        nn.Parameter(facula.ones(2, dtype=facula.int64))
    assert not nn.Parameter(facula.ones(2, dtype=facula.int64), requires_grad=False).requires_grad


def test_a_tensor_of_a_subclass_keeps_its_type():
    class Marked(facula.Tensor):
        pass

    p = nn.Parameter(facula.ones(2).as_subclass(Marked))
    assert type(p) is Marked
    assert isinstance(p, nn.Parameter)
    assert not isinstance(facula.ones(2).as_subclass(Marked), nn.Parameter)
    m = nn.Module()
    m.p = p
    assert list(m.parameters()) == [p]


class Named(nn.Parameter):
    def __new__(cls, data, name=None, requires_grad=True):
        parameter = super().__new__(cls, data, requires_grad)
        parameter.label = name
        return parameter


class NamedLater(nn.UninitializedParameter):
    def __new__(cls, name=None):
        return super().__new__(cls)


def test_a_subclass_may_be_made_of_other_arguments():
    assert Named(facula.ones(2), name="scale").label == "scale"
    assert nn.parameter.is_lazy(NamedLater(name="scale"))


def test_a_parameter_of_a_subclass_is_printed_as_one():
    text = "Parameter(Named([1., 1.], requires_grad=True))"
    assert repr(Named(facula.ones(2))) == f"Parameter containing:\n{text}"


def test_a_deep_copy_has_values_and_no_gradient():
    p = nn.Parameter(facula.ones(2), requires_grad=False)
    p.grad = facula.ones(2)
    twin = copy.deepcopy(p)
    assert type(twin) is nn.Parameter
    assert twin.tolist() == [1.0, 1.0]
    assert twin.grad is None
    assert not twin.requires_grad


def test_a_pickle_keeps_type_and_attributes():
    p = nn.Parameter(facula.ones(2))
    p.note = "kept"
    twin = pickle.loads(pickle.dumps(p))
    assert type(twin) is nn.Parameter
    assert twin.note == "kept"
    assert twin.requires_grad


def test_a_buffer_is_a_tensor_that_modules_know():
    b = nn.Buffer(facula.ones(1))
    assert type(b) is facula.Tensor
    assert isinstance(b, nn.Buffer)
    assert not isinstance(facula.ones(1), nn.Buffer)


class TestUninitialized:
    def test_refuses_to_be_computed_with(self):
        p = nn.UninitializedParameter()
        for use in (lambda: p + 1, lambda: p.sum(), lambda: p.zero_(), lambda: len(p)):
            with pytest.raises(ValueError, match="the parameter has no shape yet"):
                use()

    def test_has_no_shape(self):
        with pytest.raises(RuntimeError, match="shape: the parameter or buffer has none yet"):
            _ = nn.UninitializedBuffer().shape

    def test_becomes_a_parameter_of_the_dtype_it_was_made_with(self):
        p = nn.UninitializedParameter(dtype=facula.float64)
        p.materialize((2, 3))
        assert type(p) is nn.Parameter
        assert (p.shape, p.dtype, p.requires_grad) == ((2, 3), facula.float64, True)

    def test_copies_stay_uninitialized(self):
        p = nn.UninitializedParameter()
        for twin in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
            assert nn.parameter.is_lazy(twin)
