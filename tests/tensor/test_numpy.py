"""Memory shared with NumPy and other libraries."""

import copy
import pickle

import numpy as np
import pytest

import facula

DTYPES = {
    "bool": np.bool_,
    "uint8": np.uint8,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
    "complex64": np.complex64,
    "complex128": np.complex128,
}


@pytest.mark.promise("T6")
@pytest.mark.parametrize("name", DTYPES)
def test_from_numpy_and_numpy_share_memory(name):
    a = np.zeros((2, 3), DTYPES[name])
    x = facula.from_numpy(a)
    assert x.dtype == getattr(facula, name)
    a[0, 1] = 1
    assert x[0, 1] == 1
    x[1, 2] = 1
    assert a[1, 2] == 1
    assert np.shares_memory(x.numpy(), a)


@pytest.mark.promise("T6")
def test_strides_pass_the_border():
    a = np.arange(24.0).reshape(4, 6)[::2, 1::2]
    x = facula.from_numpy(a)
    assert x.stride() == (12, 2)
    assert x.tolist() == a.tolist()
    assert x.t().numpy().strides == (16, 96)


@pytest.mark.promise("T6")
def test_the_memory_outlives_either_side():
    x = facula.from_numpy(np.arange(1000.0))
    a = (x + 0).numpy()
    assert x[-1] == a[-1] == 999


@pytest.mark.promise("T6")
def test_tensor_copies_and_as_tensor_does_not():
    a = np.zeros(3)
    copied, shared = facula.tensor(a), facula.as_tensor(a)
    a[0] = 1
    assert copied[0] == 0
    assert shared[0] == 1


@pytest.mark.promise("T6")
def test_numpy_functions_take_tensors():
    x = facula.tensor([1.0, 4.0])
    assert np.sqrt(np.asarray(x)).tolist() == [1, 2]
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    assert np.asarray(x, dtype=np.float16).dtype == np.float16


@pytest.mark.promise("T6")
def test_dlpack_goes_both_ways():
    a = np.arange(6.0).reshape(2, 3)
    x = facula.from_dlpack(a)
    x[0, 0] = 9
    assert a[0, 0] == 9
    b = np.from_dlpack(facula.ones(2, 3))
    assert b.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_numpy_of_a_tensor_that_requires_grad_is_refused():
    with pytest.raises(RuntimeError, match="detach"):
        facula.ones(2, requires_grad=True).numpy()


@pytest.mark.parametrize(
    "make_copy", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_keep_values_dtype_and_requires_grad(make_copy):
    x = facula.arange(6, dtype=facula.float64).view(2, 3).t().requires_grad_()
    y = make_copy(x)
    assert y.dtype == x.dtype
    assert y.requires_grad
    assert y.shape == x.shape
    assert y.tolist() == x.tolist()


@pytest.mark.promise("T8")
def test_item_and_tolist_give_python_numbers():
    assert facula.tensor(3).item() == 3
    assert isinstance(facula.tensor(3).item(), int)
    assert isinstance(facula.tensor(3.0).item(), float)
    assert isinstance(facula.tensor(True).item(), bool)
    assert isinstance(facula.tensor(1j).item(), complex)
    assert facula.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert facula.zeros(2, 0).tolist() == [[], []]
    with pytest.raises(RuntimeError):
        facula.ones(2).item()


@pytest.mark.promise("T8")
def test_size_is_a_tuple_that_prints_its_name():
    size = facula.ones(2, 3).shape
    assert isinstance(size, tuple)
    assert size == (2, 3)
    assert size.numel() == 6
    assert isinstance(size, facula.Size)


@pytest.mark.promise("T7")
def test_legacy_constructors():
    assert facula.Tensor(2, 3).shape == (2, 3)
    assert facula.Tensor([1, 2]).tolist() == [1, 2]
    assert facula.FloatTensor([1, 2]).dtype == facula.float32
    assert facula.LongTensor([1, 2]).dtype == facula.int64


@pytest.mark.promise("T7")
def test_default_dtype_rules_floats():
    assert facula.tensor([1.0]).dtype == facula.float32
    assert facula.tensor([1]).dtype == facula.int64
    facula.set_default_dtype(facula.float64)
    try:
        assert facula.tensor([1.0]).dtype == facula.ones(1).dtype == facula.float64
    finally:
        facula.set_default_dtype(facula.float32)


@pytest.mark.promise("T7")
def test_finfo_and_iinfo():
    assert facula.finfo(facula.bfloat16).eps == 2**-7
    assert facula.finfo(facula.float16).max == 65504
    assert facula.iinfo(facula.int8).min == -128
    assert facula.iinfo(facula.uint8).max == 255


def test_tensor_can_be_subclassed():
    class Marked(facula.Tensor):
        pass

    x = facula.ones(2).as_subclass(Marked)
    x.note = "kept"
    assert isinstance(x, Marked)
    assert x.note == "kept"
    assert (x + 1).tolist() == [2, 2]


def test_an_array_can_be_divided_by_a_tensor():
    y = np.array([2.0, 3.0]) / facula.tensor([4.0, 2.0])
    assert isinstance(y, facula.Tensor)
    assert y.tolist() == [0.5, 1.5]
    with pytest.raises(TypeError):
        _ = "a" / facula.ones(2)
    with pytest.raises(TypeError):
        _ = [1.0, 2.0] / facula.ones(2)
