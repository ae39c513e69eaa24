"""copy and pickle of tensors and the small types around them."""

import copy
import pickle

import pytest

import facula

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32"]
DTYPES += ["float64", "complex64", "complex128"]


class Marked(facula.Tensor):
    """A subclass with attributes, at module level, where pickle finds it."""


def pickled(x):
    return pickle.loads(pickle.dumps(x))


@pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("name", DTYPES)
def test_copies_keep_dtype_strides_and_values(make_copy, name):
    x = facula.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(facula, name))
    for t in (x, x.t(), x.narrow(1, 1, 2), x.narrow(0, 0, 0), x.select(0, 1).select(0, 1)):
        y = make_copy(t)
        assert y.dtype == t.dtype
        assert y.stride() == t.stride()
        assert y.storage_offset() == t.storage_offset()
        assert y.tolist() == t.tolist()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_pickle(protocol):
    x = facula.arange(3.0, requires_grad=True)
    y = pickle.loads(pickle.dumps(x, protocol))
    assert y.tolist() == [0, 1, 2]
    assert y.requires_grad
    assert y.is_leaf


@pytest.mark.parametrize("make_copy", [copy.deepcopy, pickled])
def test_views_go_on_sharing_one_storage(make_copy):
    x = facula.zeros(2, 2)
    a, b, c = make_copy([x, x.select(0, 1), x])
    a.fill_(1)
    assert a is c
    assert b.tolist() == [1, 1]
    assert x.tolist() == [[0, 0], [0, 0]]


def test_copy_shares_memory_and_deepcopy_does_not():
    x = facula.zeros(2)
    assert copy.copy(x).data_ptr() == x.data_ptr()
    assert copy.deepcopy(x).data_ptr() != x.data_ptr()


def test_deepcopy_takes_the_gradient_along():
    x = facula.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    assert y.grad.tolist() == [2, 2]
    assert y.grad is not x.grad
    assert pickled(x).grad is None


def test_deepcopy_of_a_result_is_refused():
    x = facula.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="deepcopy: only tensors made by the user"):
        copy.deepcopy(x * 2)
    assert copy.copy(x * 2).is_leaf


@pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy, pickled])
def test_subclass_and_attributes_are_kept(make_copy):
    x = facula.Tensor._make_subclass(Marked, facula.ones(2), True)
    x.note = ["kept"]
    y = make_copy(x)
    assert type(y) is Marked
    assert y.note == ["kept"]
    assert y.requires_grad
    assert y.is_leaf


def test_an_attribute_that_leads_back_is_copied_once():
    x = facula.ones(2)
    x.me = x
    y = copy.deepcopy(x)
    assert y.me is y


def test_a_pickle_cannot_make_a_tensor_outside_its_storage():
    function, (storage, *_) = facula.ones(2).__reduce_ex__(2)
    with pytest.raises(RuntimeError, match="bytes"):
        function(storage, 0, (3,), (1,), False, None)
    with pytest.raises(RuntimeError, match="offset"):
        function(storage, -1, (1,), (1,), False, None)
    with pytest.raises(RuntimeError, match="negative"):
        function(storage, 1, (2,), (-1,), False, None)
    with pytest.raises(RuntimeError, match="a stride for each size"):
        function(storage, 0, (2,), (), False, None)


@pytest.mark.parametrize(
    "make", ["float32", "bool", "contiguous_format", "channels_last", "strided", "FloatTensor"]
)
@pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy, pickled])
def test_constants_stay_themselves(make_copy, make):
    value = getattr(facula, make)
    assert make_copy(value) is value


@pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy, pickled])
def test_devices_and_sizes_are_copied_by_value(make_copy):
    assert make_copy(facula.device("cuda:1")) == facula.device("cuda:1")
    size = make_copy(facula.Size([2, 3]))
    assert size == (2, 3)
    assert isinstance(size, facula.Size)


def test_a_generator_goes_on_where_its_pickle_was_made():
    generator = facula.Generator().manual_seed(3)
    facula.rand(5, generator=generator)
    other = pickled(generator)
    assert facula.rand(3, generator=other).tolist() == facula.rand(3, generator=generator).tolist()


@pytest.mark.parametrize(
    "function", [facula.relu, facula.Tensor.relu, facula.linalg.vector_norm, facula.conv2d]
)
def test_functions_of_the_core_are_copied_and_pickled_by_name(function):
    assert copy.deepcopy(function) is function
    assert pickle.loads(pickle.dumps(function)) is function
