"""Tensors from numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest

import facula
from check_op import check_threads


def test_numbers_between_integers_are_cut_before_and_after():
    assert facula.linspace(4.7, 9, 5, dtype=facula.uint8).tolist() == [4, 5, 6, 7, 9]
    assert facula.logspace(0, 1.2, 2, 5, dtype=facula.int16).tolist() == [1, 5]


def test_linspace_ends_exactly_in_every_dtype():
    for dtype in (facula.float16, facula.bfloat16, facula.float32, facula.complex64):
        x = facula.linspace(-3, 4.5, 11, dtype=dtype)
        assert (x[0].item(), x[-1].item()) == (-3, 4.5)


def test_linspace_takes_tensors_that_hold_one_number():
    assert facula.linspace(facula.tensor(0), facula.tensor(1.0), 3).tolist() == [0, 0.5, 1]
    with pytest.raises(RuntimeError, match="linspace: expected numbers or 0-d tensors as start"):
        facula.linspace(facula.ones(2), 1, 3)


@pytest.mark.parametrize("ends", [(1j,), (0, 2j), (0, 3, 1j), (facula.tensor(1j),)])
def test_arange_refuses_complex_numbers(ends):
    with pytest.raises(RuntimeError, match="arange: expected real numbers"):
        facula.arange(*ends)


def test_arange_of_int64_counts_in_integers():
    assert facula.arange(0.0, -8.000001, -4.0, dtype=facula.int64).tolist() == [0, -4]
    assert facula.arange(0.0, -8.000001, -4.0, dtype=facula.int32).tolist() == [0, -4, -8]
    with pytest.raises(ValueError, match=r"arange: step must be nonzero; 0\.5 is 0 in int64"):
        facula.arange(0, 64, 0.5, dtype=facula.int64)


def test_empty_does_not_write_to_out():
    out = facula.ones(2, 3)
    assert facula.empty(2, 3, out=out) is out
    assert out.sum().item() == 6


def test_normal_refuses_an_integer_out_before_it_writes():
    out = facula.ones(3, dtype=facula.int64)
    with pytest.raises(NotImplementedError, match="normal: expected out of a floating-point dtype"):
        facula.normal(facula.zeros(3), 1.0, out=out)
    assert out.tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "bfloat16", "float32", "complex64"])
def test_new_tensors_have_the_dtype_of_the_old(dtype):
    x = facula.ones(2, dtype=getattr(facula, dtype))
    for y, expected in (
        (x.new_zeros(2, 3), [[0] * 3] * 2),
        (x.new_zeros((2, 3)), [[0] * 3] * 2),
        (x.new_ones(size=(1, 2)), [[1, 1]]),
        (x.new_full((2,), 1), [1, 1]),
        (x.new_empty(2, 0), [[], []]),
        (x.new_full((), 1), 1),
    ):
        assert (y.dtype, y.tolist()) == (x.dtype, expected)
    assert x.new_empty((4, 5)).shape == (4, 5)
    for make in (x.new_zeros, x.new_empty, lambda *a, **k: x.new_full(*a, 2.5, **k)):
        y = make((2,), dtype=facula.float64, requires_grad=True)
        assert y.dtype == facula.float64 and y.requires_grad


def test_scalar_tensor_holds_one_number_of_the_default_dtype():
    for value, dtype in ((2.5, None), (2, None), (True, None), (3, facula.int8)):
        x = facula.scalar_tensor(value, dtype=dtype)
        assert (x.shape, x.item(), x.dtype) == ((), value, dtype or facula.float32)
    assert facula.scalar_tensor(1.0, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match=r"scalar_tensor: .* does not fit into float32"):
        facula.scalar_tensor(1j)


@pytest.mark.parametrize("name", ["new_empty", "new_zeros", "new_ones"])
def test_new_tensors_take_the_options_of_factories(name):
    options = {"dtype": None, "device": None, "layout": facula.strided, "pin_memory": False}
    y = getattr(facula.ones(1), name)(2, 3, **options, requires_grad=True)
    assert y.shape == (2, 3) and y.requires_grad
    assert facula.ones(1).new_full((2,), 7, layout=None, pin_memory=False).tolist() == [7, 7]
    with pytest.raises(RuntimeError, match="layout"):
        facula.ones(1).new_zeros(2, layout=facula.sparse_coo)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "float16"])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 33, 32768, 32769, 60001])
def test_ranges_longer_than_a_piece_count_on(n, dtype):
    to = getattr(facula, dtype)
    assert facula.arange(n, dtype=to).tolist() == np.arange(n).astype(dtype).tolist()
    expected = (5 - np.arange(n) / 2 if "float" in dtype else 5 - 3 * np.arange(n)).astype(dtype)
    step = -0.5 if "float" in dtype else -3
    assert facula.arange(5, 5 + step * n, step, dtype=to).tolist() == expected.tolist()
    if n > 0 and dtype != "float16":
        got = facula.linspace(-1, n - 2, n, dtype=to).tolist()
        assert got == np.arange(-1, n - 1).tolist()


@pytest.mark.parametrize("n", [2, 3, 10, 1001, 40003])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_linspace_rounds_product_and_sum_once(n, dtype):
    """From the nearer end, with a step of the dtype."""
    real = np.dtype(dtype).type
    first, last = real(0.1), real(1.7)
    step = (last - first) / real(n - 1)
    got = facula.linspace(float(first), float(last), n, dtype=getattr(facula, dtype)).numpy()
    for i in {0, 1, n // 3, n // 2 - 1, n // 2, n - 2, n - 1} | set(range(0, n, 997)):
        near, distance = (first, i) if i < n // 2 else (last, i - (n - 1))
        exact = Fraction(float(near)) + Fraction(float(step)) * distance
        error = abs(Fraction(float(got[i])) - exact)
        assert error <= Fraction(float(np.spacing(got[i]))) / 2, i


def test_ranges_have_the_same_bits_for_1_2_and_8_threads():
    check_threads(
        lambda: facula.arange(100000),
        lambda: facula.arange(0.0, 1.0, 1e-5),
        lambda: facula.linspace(0.1, 1.7, 100001),
        lambda: facula.linspace(0.1, 1.7, 100001, dtype=facula.float16),
    )


def test_a_linspace_of_one_number_keeps_the_sign_of_zero():
    for dtype in (facula.float16, facula.float32, facula.float64):
        assert facula.linspace(-0.0, 1.0, 1, dtype=dtype).signbit().item()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("start, step", [(0, 1), (-7, 3), (5, -2)])
def test_ranges_of_integers_agree_with_numpy_and_wrap_around(dtype, start, step):
    found = facula.arange(start, start + 40000 * step, step, dtype=getattr(facula, dtype))
    expected = (start + step * np.arange(40000)).astype(dtype)
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("n", [1, 511, 513, 70000])
def test_ranges_of_16_bits_are_those_of_double_rounded(dtype, n):
    found = facula.arange(0.5, 0.5 + n, dtype=getattr(facula, dtype))
    wide = facula.arange(0.5, 0.5 + n, dtype=facula.float32)
    assert facula.equal(found, wide.to(found.dtype))


@pytest.mark.parametrize("n", [1, 2, 513, 3001])
def test_linspace_of_16_bits_rounds_product_and_sum(n):
    found = facula.linspace(-3, 4.5, n, dtype=facula.float16).numpy()
    first, last = np.float16(-3), np.float16(4.5)
    step = (last - first) / np.float16(n - 1) if n > 1 else np.float16(0)
    places = np.arange(n, dtype=np.float32)
    is_first = places < max(n // 2, n == 1)
    distance = np.where(is_first, places, places - (n - 1)).astype(np.float32)
    product = (np.float32(step) * distance).astype(np.float16)
    np.testing.assert_array_equal(found, np.where(is_first, first, last) + product)


def test_an_infinite_part_of_a_complex_end_leaves_the_other_part_alone():
    y = facula.linspace(0j, complex(math.inf, 1), 5)
    assert y.imag.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert y.real[1] == math.inf
    assert facula.linspace(0, complex(1, math.nan), 5).real.tolist() == [0, 0.25, 0.5, 0.75, 1]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_parts_of_a_complex_linspace_are_those_of_real_ones(dtype):
    y = facula.linspace(2 + 1j, 5 - 3j, 7, dtype=getattr(facula, dtype))
    assert facula.equal(y.real, facula.linspace(2, 5, 7, dtype=y.real.dtype))
    assert facula.equal(y.imag, facula.linspace(1, -3, 7, dtype=y.real.dtype))
