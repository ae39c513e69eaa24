"""The historic constructors and Tensor's Python-level methods."""

import collections
import gc
import weakref

import numpy as np
import pytest

import facula

LEGACY = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "BoolTensor": "bool",
}


@pytest.mark.promise("T7")
@pytest.mark.parametrize("name", LEGACY)
def test_typed_constructors(name):
    make, dtype = getattr(facula, name), getattr(facula, LEGACY[name])
    assert make.dtype == dtype
    assert make(2, 3).shape == make(facula.Size([2, 3])).shape == make(size=(2, 3)).shape == (2, 3)
    assert make().shape == (0,)
    assert make([1, 0]).tolist() == make((1, 0)).tolist() == [1, 0]
    assert make(np.array([1, 0])).tolist() == [1, 0]
    x = make([[1, 0]])
    assert x.dtype == dtype
    assert make(x).data_ptr() == make(x.storage()).data_ptr() == x.data_ptr()
    assert isinstance(x, make)
    assert isinstance(facula.ones(1), make) == (dtype == facula.float32)
    assert x.type() == f"torch.{name}"
    assert facula.ones(2).type(make).dtype == dtype
    assert facula.ones(2).type(f"torch.{name}").dtype == facula.ones(2).type(dtype).dtype == dtype
    assert repr(make) == f"<class 'torch.{name}'>"


@pytest.mark.parametrize("make", [facula.FloatTensor, facula.Tensor])
@pytest.mark.parametrize("argument", [2.5, "a", None, True, {1}, object()])
def test_constructors_refuse_what_is_neither_size_nor_data(make, argument):
    with pytest.raises(TypeError):
        make(argument)


def test_constructors_refuse_wrong_arguments():
    with pytest.raises(RuntimeError, match="at least 0"):
        facula.FloatTensor(-1)
    with pytest.raises(TypeError, match="int64"):
        facula.LongTensor(facula.ones(2))
    with pytest.raises(TypeError, match="dtype"):
        facula.FloatTensor([1], dtype=facula.int8)
    with pytest.raises(TypeError):
        facula.FloatTensor([1], [2])
    with pytest.raises(RuntimeError):
        facula.Tensor(2**62, 2**62)


@pytest.mark.promise("T7")
def test_tensor_takes_sizes_data_and_tensors():
    assert facula.Tensor(2, 3).shape == (2, 3)
    assert facula.Tensor(data=[1, 2]).dtype == facula.float32
    x = facula.ones(2, dtype=facula.int64)
    assert facula.Tensor(x).dtype == facula.int64
    assert facula.Tensor(x).data_ptr() == x.data_ptr()


@pytest.mark.promise("T7")
def test_new_has_the_dtype_of_its_tensor():
    x = facula.ones(2, dtype=facula.int32)
    assert x.new([1, 2]).dtype == facula.int32
    assert x.new(2, 3).shape == x.new(facula.Size([2, 3])).shape == (2, 3)
    assert x.new((2, 3)).tolist() == [2, 3]


def test_type_refuses_unknown_types():
    x = facula.ones(2)
    for name in ("foo", "torch.foo", float):
        with pytest.raises(ValueError, match="invalid type"):
            x.type(name)
    with pytest.raises(TypeError, match="expected a dtype"):
        x.type(3)
    assert x.type(facula.Tensor) is x


@pytest.mark.promise("T7")
def test_set_default_tensor_type():
    try:
        facula.set_default_tensor_type(facula.DoubleTensor)
        assert facula.ones(1).dtype == facula.Tensor(1).dtype == facula.float64
    finally:
        facula.set_default_tensor_type("torch.FloatTensor")
    assert facula.ones(1).dtype == facula.float32
    for wrong in (facula.LongTensor, 3, "torch.LongTensor"):
        with pytest.raises(TypeError):
            facula.set_default_tensor_type(wrong)


class Parameter(facula.Tensor):
    """As nn.Parameter is made."""

    __torch_function__ = facula._core._disabled_torch_function_impl

    def __new__(cls, data):
        return facula.Tensor._make_subclass(cls, data, True)

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


def test_a_subclass_is_a_leaf_and_its_results_are_tensors():
    p = Parameter(facula.ones(2))
    assert type(p) is Parameter
    assert p.requires_grad
    assert p.is_leaf
    assert type(p * 2) is facula.Tensor
    (p * 2).sum().backward()
    assert p.grad.tolist() == [2, 2]
    assert repr(p) == "Parameter containing:\nParameter([1., 1.], requires_grad=True)"


def test_a_subclass_object_in_a_cycle_is_collected():
    p = Parameter(facula.ones(2))
    p.me = p
    reference = weakref.ref(p)
    del p
    gc.collect()
    assert reference() is None


def test_as_subclass_keeps_history_and_make_subclass_cuts_it():
    x = facula.ones(2, requires_grad=True)
    y = (x * 3).as_subclass(Parameter)
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    assert facula.Tensor._make_subclass(Parameter, x * 3).is_leaf
    for wrong in (int, 5, None):
        with pytest.raises(TypeError, match="subclass of Tensor"):
            facula.ones(2).as_subclass(wrong)


def test_iteration_gives_the_rows():
    x = facula.arange(4).view(2, 2)
    assert [row.tolist() for row in x] == [[0, 1], [2, 3]]
    assert [v.item() for v in reversed(facula.arange(3))] == [2, 1, 0]
    with pytest.raises(TypeError, match="iter: a 0-d tensor has no elements"):
        iter(facula.tensor(1))


def test_in_asks_for_an_element():
    assert 3 in facula.arange(4)
    assert 5 not in facula.arange(4)
    with pytest.raises(RuntimeError, match="__contains__"):
        assert "a" in facula.arange(4)


def test_complex_of_one_element():
    assert complex(facula.tensor(3 + 1j)) == 3 + 1j
    assert complex(facula.tensor([2])) == 2
    with pytest.raises(ValueError, match="one element"):
        complex(facula.ones(2))


def test_apply_and_map_call_python_for_every_element():
    x = facula.arange(4.0).view(2, 2).t()
    assert x.apply_(lambda v: v + 1) is x
    assert x.tolist() == [[1, 3], [2, 4]]
    x.map_(facula.tensor([10.0, 20.0]), lambda a, b: a * b)
    assert x.tolist() == [[10, 60], [20, 80]]
    with pytest.raises(RuntimeError, match="grad"):
        facula.ones(2, requires_grad=True).apply_(abs)
    with pytest.raises(TypeError, match="int8"):
        x.map_(x.char(), max)


def test_nothing_is_lazily_conjugated():
    x = facula.tensor([1j])
    assert not x.is_conj()
    assert not x.is_neg()
    assert x.resolve_conj() is x.resolve_neg() is x
    assert facula.ones(2, 3, 4).transpose(0, 2).dim_order() == (2, 1, 0)


@pytest.mark.parametrize(
    "value, name",
    [
        (3, "int"),
        (int, "int"),
        (None, "NoneType"),
        (facula.ones(1), "torch.FloatTensor"),
        (collections.OrderedDict, "collections.OrderedDict"),
        (collections.OrderedDict(), "collections.OrderedDict"),
    ],
)
def test_typename_is_that_of_the_type(value, name):
    assert facula.typename(value) == name


def test_python_calls_the_type_tensor_in_its_messages():
    with pytest.raises(
        TypeError, match=r"unsupported operand type\(s\) for \+: 'Tensor' and 'str'"
    ):
        facula.ones(2) + "two"
    assert repr(facula.Tensor) == "<class 'facula.Tensor'>"
