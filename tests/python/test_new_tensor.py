"""``tensor(data)``: every kind of data, and what is refused."""

import contextlib
import random

import numpy as np
import pytest

import facula


@pytest.mark.parametrize(
    "data, dtype, values",
    [
        (1, "int64", 1),
        (True, "bool", True),
        (1.5, "float32", 1.5),
        (1j, "complex64", 1j),
        ([], "float32", []),
        ([[], []], "float32", [[], []]),
        ([[], [1]], "float32", [[], []]),
        ([1, 2.5], "float32", [1, 2.5]),
        ([1, True], "int64", [1, 1]),
        ([1, 2j], "complex64", [1, 2j]),
        (range(3), "int64", [0, 1, 2]),
        ((1, 2), "int64", [1, 2]),
        (bytearray(b"ab"), "int64", [97, 98]),
        (facula.Size([2, 3]), "int64", [2, 3]),
        ([2**63, 1.0], "float32", [2.0**63, 1]),
        (np.float32(3), "float32", 3),
        (np.float64(3), "float64", 3),
        (np.int8(3), "int8", 3),
        (np.bool_(True), "bool", True),
        ([np.float32(1), np.float64(2)], "float64", [1, 2]),
        ([np.int8(1), 2.0], "float32", [1, 2]),
        ([np.array(1), np.array(2)], "int64", [1, 2]),
        (np.arange(2, dtype=np.int16), "int16", [0, 1]),
        ([np.arange(2), [3, 4]], "int64", [[0, 1], [3, 4]]),
        ([[3.0, 4], np.arange(2)], "float32", [[3, 4], [0, 1]]),
    ],
)
def test_dtype_and_values_of(data, dtype, values):
    x = facula.tensor(data)
    assert x.dtype == getattr(facula, dtype)
    assert x.tolist() == values


def test_tensors_in_lists_are_numbers():
    x = facula.tensor([facula.tensor(1), facula.tensor([2.5])])
    assert x.dtype == facula.float32
    assert x.tolist() == [1, 2.5]
    with pytest.raises(ValueError, match="expected tensors of one element"):
        facula.tensor([facula.ones(2), facula.ones(2)])
    with pytest.warns(UserWarning, match="requires grad"):
        facula.tensor([facula.ones(1, requires_grad=True)])


def test_tensor_of_a_tensor_copies_with_a_warning():
    x = facula.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="clone"):
        y = facula.tensor(x)
    assert not y.requires_grad
    assert y.data_ptr() != x.data_ptr()


@pytest.mark.parametrize(
    "data, error, text",
    [
        ([[1, 2], [3]], ValueError, r"expected 2 elements in dimension 1, got 1"),
        ([1, [2]], TypeError, "list"),
        ([[1], 2], TypeError, "not a sequence"),
        ("a", TypeError, "expected numbers, got str"),
        (b"a", TypeError, "expected numbers, got bytes"),
        (["a"], ValueError, "expected numbers, got str"),
        ([1, "a"], TypeError, "str"),
        (None, RuntimeError, "expected numbers or sequences of them, got NoneType"),
        ([None], RuntimeError, "expected numbers or sequences of them, got NoneType"),
        ({1: 2}, RuntimeError, "expected numbers or sequences of them, got dict"),
        ({1}, RuntimeError, "expected numbers or sequences of them, got set"),
        (2**63, ValueError, "an int does not fit into int64"),
        ([1, 2**70], ValueError, "an int does not fit into int64"),
        (np.array(["a"]), TypeError, "<U1"),
        (np.longdouble(3), TypeError, "float128|longdouble"),
    ],
)
def test_data_that_is_refused(data, error, text):
    with pytest.raises(error, match=text):
        facula.tensor(data)


@pytest.mark.parametrize(
    "value, dtype, error",
    [
        (300, "uint8", RuntimeError),
        (-300, "uint8", RuntimeError),
        (200, "int8", RuntimeError),
        (2**40, "int32", RuntimeError),
        (1e6, "int8", RuntimeError),
        (float("nan"), "int64", RuntimeError),
        (float("inf"), "int64", RuntimeError),
        (2.0**63, "int64", RuntimeError),
        (1j, "float32", TypeError),
        (1j, "int64", TypeError),
        (None, "float32", TypeError),
        (None, "int64", TypeError),
        (2**2000, "float64", OverflowError),
    ],
)
def test_values_that_do_not_fit_are_refused(value, dtype, error):
    with pytest.raises(error):
        facula.tensor([value], dtype=getattr(facula, dtype))


def test_values_that_fit_after_all():
    assert facula.tensor([-1], dtype=facula.uint8).tolist() == [255]
    assert facula.tensor([1e40]).tolist() == [float("inf")]
    assert facula.tensor([1.9, -1.9], dtype=facula.int64).tolist() == [1, -1]
    assert facula.tensor([0.5, 0], dtype=facula.bool).tolist() == [True, False]
    assert facula.tensor([2**70], dtype=facula.float64).tolist() == [2.0**70]


def test_a_list_that_contains_itself_is_refused():
    data = []
    data.append(data)
    with pytest.raises(ValueError, match="nested at most 64 levels deep"):
        facula.tensor(data)
    marked = facula.ones(2, dtype=facula.complex64).conj()  # is looked for in all arguments
    with pytest.raises(ValueError, match="nested at most 64 levels deep"):
        facula.tensor(data)
    assert marked.is_conj()


def test_a_list_that_changes_while_it_is_read_is_refused():
    data = [1.0] * 1000

    class Shrinks:
        def __float__(self):
            data.clear()
            return 1.0

    data[10] = Shrinks()
    with pytest.raises(ValueError, match="changed"):
        facula.tensor(data, dtype=facula.float32)


class _Broken:
    def __len__(self):
        return 5

    def __getitem__(self, index):
        raise KeyError("broken")


def test_garbage_raises_and_nothing_more():
    generator = random.Random(0)
    leaves = [1, -1, 2**65, 1.5, 1j, None, "a", b"b", {}, object(), _Broken(), np.zeros(2), facula]
    leaves += [facula.ones(0), facula.ones(2, 2), np.float16(1), np.array("x"), [], (), range(2)]

    def grow(depth):
        if depth == 0 or generator.random() < 0.2:
            return generator.choice(leaves)
        return [grow(depth - 1) for _ in range(generator.randrange(4))]

    makers = [facula.tensor, facula.as_tensor, facula.asarray, facula.Tensor, facula.LongTensor]
    makers += [facula.from_numpy, facula.from_dlpack, facula.UntypedStorage, facula.FloatStorage]
    refusals = TypeError, ValueError, RuntimeError, KeyError, BufferError, UserWarning
    for _ in range(3000):
        with contextlib.suppress(*refusals):
            generator.choice(makers)(grow(3))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "complex64"])
def test_new_tensor_copies_data_in_the_dtype_of_the_tensor(dtype):
    x = facula.ones(1, dtype=getattr(facula, dtype))
    for data in ([[0, 1], [1, 0]], np.array([[0.0, 1.0], [1.0, 0.0]]), 1):
        y = x.new_tensor(data)
        assert (y.dtype, y.device) == (x.dtype, x.device)
        assert y.tolist() == np.asarray(data).tolist()
    assert x.new_tensor([]).shape == (0,)
    assert x.new_tensor([1.5], dtype=facula.float64).dtype == facula.float64


def test_new_tensor_shares_neither_memory_nor_history():
    x = facula.ones(2, requires_grad=True)
    a = np.zeros(2)
    y = x.new_tensor(a, requires_grad=True)
    a[0] = 5
    assert y.tolist() == [0, 0]
    assert y.requires_grad and y.is_leaf and not x.new_tensor([1]).requires_grad
    with pytest.warns(UserWarning, match="a tensor is copied without its history"):
        z = x.new_tensor(x)
    assert z.data_ptr() != x.data_ptr() and not z.requires_grad


def test_complex_numbers_beside_others_make_a_complex_tensor():
    x = facula.tensor([[1 + 2j, 3], [True, -0.5]])
    assert x.dtype == facula.complex64 and x.tolist() == [[1 + 2j, 3], [1, -0.5]]
    y = facula.tensor([1e300 - 1j, 0.1j], dtype=facula.complex128)
    assert y.tolist() == [1e300 - 1j, 0.1j]
    with pytest.raises(TypeError, match="must be real number, not complex"):
        facula.tensor([1j], dtype=facula.float32)
