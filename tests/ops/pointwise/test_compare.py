"""Comparisons, operators and the questions about single numbers."""

import operator

import numpy as np
import pytest

import facula
from check_op import check_op

NAN, INF = float("nan"), float("inf")


def test_operators_with_what_is_no_number_answer_as_python_does():
    x = facula.ones(2)
    assert (x == None) is False  # noqa: E711
    assert (x == "a") is False
    assert (x != "a") is True
    with pytest.raises(TypeError, match="not supported between instances"):
        x < "a"  # noqa: B015
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "a"


def test_tensors_stay_hashable_although_they_compare_by_value():
    x, y = facula.ones(2), facula.ones(2)
    assert {x: 1}[x] == 1
    assert hash(x) != hash(y)


@pytest.mark.parametrize("symbol", ["lt", "le", "eq", "ne", "gt", "ge"])
def test_comparison_operators_take_numbers_on_either_side(symbol):
    op = getattr(operator, symbol)
    x = facula.tensor([1.0, 2.0, 3.0])
    assert op(x, 2).tolist() == [op(v, 2) for v in (1, 2, 3)]
    assert op(2, x).tolist() == [op(2, v) for v in (1, 2, 3)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_nan_and_infinities_are_found_in_every_floating_dtype(dtype):
    x = facula.tensor([1.0, NAN, INF, -INF], dtype=getattr(facula, dtype))
    assert x.isnan().tolist() == [False, True, False, False]
    assert x.isinf().tolist() == [False, False, True, True]
    assert x.isfinite().tolist() == [True, False, False, False]
    assert x.isposinf().tolist() == [False, False, True, False]
    assert x.isneginf().tolist() == [False, False, False, True]


def test_in_place_comparison_keeps_the_dtype():
    x = facula.tensor([1.0, 2.0])
    assert x.eq_(2) is x
    assert x.dtype == facula.float32
    assert x.tolist() == [0, 1]


def test_equal_compares_shape_and_values():
    assert facula.equal(facula.tensor([1, 2]), facula.tensor([1, 2]))
    assert not facula.equal(facula.tensor([1, 2]), facula.tensor([[1, 2]]))
    assert not facula.equal(facula.tensor([NAN]), facula.tensor([NAN]))


def test_ordering_of_complex_numbers_is_refused():
    x = facula.ones(2, dtype=facula.complex64)
    with pytest.raises(NotImplementedError, match="lt: not implemented for complex64"):
        x < x  # noqa: B015


def test_invert_is_for_integers_and_bool():
    assert (~facula.tensor([True, False])).tolist() == [False, True]
    assert (~facula.tensor([0, 5])).tolist() == [-1, -6]
    with pytest.raises(TypeError, match="~: expected a tensor of integers or bool"):
        ~facula.ones(2)


def test_where_picks_by_the_condition():
    check_op(lambda a, b: facula.where(a > b, a, b), np.maximum, [(3, 4), (4,)], low=-2, high=2)


def test_where_takes_numbers():
    condition = facula.tensor([True, False])
    assert facula.where(condition, 1, 2.5).tolist() == [1, 2.5]
    assert facula.where(condition, facula.tensor([1, 2]), 0).dtype == facula.int64
    with pytest.raises(RuntimeError, match="where: expected a bool condition"):
        facula.where(facula.tensor([1, 0]), 1, 2)


@pytest.mark.parametrize("name", ["eq_", "ne_", "lt_", "le_", "gt_", "ge_", "greater_"])
def test_no_gradient_passes_through_a_comparison_in_place(name):
    x = facula.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    getattr(y, name)(4.0)
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]
    plain = facula.tensor([1.0, 4.0])
    assert not getattr(plain, name)(4.0).requires_grad


def test_isreal_looks_at_the_imaginary_part():
    z = facula.tensor([[1 + 0j, 2j], [complex(NAN, 0), complex(0, NAN)]])
    assert z.isreal().tolist() == [[True, False], [True, False]]
    assert facula.isreal(z.t()).tolist() == [[True, True], [False, False]]
    for x in (facula.ones(2), facula.tensor([1, 0]), facula.tensor([True, False])):
        assert x.isreal().tolist() == [True, True]
    assert facula.empty(0, dtype=facula.complex64).isreal().shape == (0,)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_signbit_sees_the_sign_of_zeros(dtype):
    x = facula.tensor([[-0.0, 0.0, -1.0], [INF, -INF, 3.0]], dtype=getattr(facula, dtype))
    expected = np.signbit(x.double().numpy())
    assert x.signbit().tolist() == expected.tolist()
    assert facula.signbit(x.t()).tolist() == expected.T.tolist()


def test_signbit_sees_the_sign_of_nan():
    for dtype in (facula.float16, facula.float32, facula.float64):  # bfloat16 has one NaN only
        assert facula.tensor([-NAN, NAN], dtype=dtype).signbit().tolist() == [True, False]


def test_signbit_of_integers_is_whether_they_are_negative():
    for dtype in (facula.int8, facula.int16, facula.int32, facula.int64):
        assert facula.tensor([-1, 0, 1], dtype=dtype).signbit().tolist() == [True, False, False]
    assert facula.tensor([255], dtype=facula.uint8).signbit().tolist() == [False]
    assert facula.tensor([True, False]).signbit().tolist() == [False, False]


@pytest.mark.promise("T5")
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "complex64"])
def test_logical_not_in_place_keeps_the_dtype(dtype):
    x = facula.tensor([0, 1, 2, 0]).to(getattr(facula, dtype))[::2]
    assert x.logical_not_() is x
    assert x.dtype == getattr(facula, dtype)
    assert x.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("name", ["eq", "lt", "ge", "logical_and"])
def test_in_place_forms_write_the_truth_in_the_dtype_of_the_tensor(name, dtype):
    x = (facula.arange(70) % 5).to(getattr(facula, dtype)).reshape(7, 10)
    y = x.flip(1)
    expected = getattr(facula, name)(x, y).to(x.dtype)
    view = x.t()
    assert getattr(view, name + "_")(y.t()) is view
    assert facula.equal(x, expected)


@pytest.mark.parametrize("size", [1, 5, 100, 1024, 1025, 40000])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "bfloat16", "float32", "complex64"])
def test_comparisons_in_place_store_truths_in_the_dtype(dtype, size):
    a = (np.arange(size) * 7 % 5).astype(np.float32)
    b = (np.arange(size) * 3 % 5).astype(np.float32)
    x, y = (facula.tensor(n).to(getattr(facula, dtype)) for n in (a, b))
    expected = (x == y).to(x.dtype)
    for given in (x.clone(), facula.stack([x, x], 1)[:, 1]):
        assert given.eq_(y) is given
        assert facula.equal(given, expected)
    assert facula.equal(x.clone().ne_(1), (x != 1).to(x.dtype))
    assert facula.equal(x.clone().eq_(y.double() if dtype != "complex64" else y), expected)


def test_comparison_in_place_with_its_own_memory():
    x = facula.arange(6.0)
    assert x.ge_(x).tolist() == [1] * 6
    x = facula.arange(4.0).reshape(2, 2)
    with pytest.raises(RuntimeError, match="share some of their elements"):
        x.lt_(x.t())
    x = facula.tensor([1, 2, 3]).to(facula.uint16)
    assert x.eq_(2).tolist() == [0, 1, 0]


@pytest.mark.parametrize("size", [1, 20, 600, 3000])
def test_equal_finds_one_difference_in_any_layout(size):
    a = facula.arange(2 * size).reshape(2, size)
    for given in (a, a.t(), a[:, ::2], a.expand(3, 2, size)):
        assert facula.equal(given, given.clone())
        assert facula.equal(given.clone(), given)
        other = given.clone()
        other[-1, -1] += 1
        assert not facula.equal(given, other) and not facula.equal(other, given)
    assert not facula.equal(facula.tensor([float("nan")]), facula.tensor([float("nan")]))
