"""Methods that convert to one dtype, to that of another tensor, or to a device."""

import numpy as np
import pytest

import facula

METHODS = {
    "bfloat16": facula.bfloat16,
    "bool": facula.bool,
    "byte": facula.uint8,
    "cdouble": facula.complex128,
    "cfloat": facula.complex64,
    "char": facula.int8,
    "double": facula.float64,
    "float": facula.float32,
    "half": facula.float16,
    "int": facula.int32,
    "long": facula.int64,
    "short": facula.int16,
}
VALUES = [[0, 1, 2], [100, 3, 0]]


@pytest.mark.parametrize("source", METHODS.values(), ids=str)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.filterwarnings("ignore:.*imaginary")
def test_a_method_named_after_a_dtype_converts_to_it(name, source):
    x = facula.tensor(VALUES).to(source)
    for view in (x, x.t(), x[:, ::2], x[:1].expand(3, 3), x[0, 1], x[:0]):
        y = getattr(view, name)()
        assert y.dtype == METHODS[name]
        assert y.tolist() == view.to(METHODS[name]).tolist()
        assert (y is view) == (source == METHODS[name])
        assert facula.equal(view.type_as(facula.empty(0, dtype=METHODS[name])), y)


def test_integers_wrap_around_and_fractions_are_cut():
    x = facula.tensor([-1, 256 + 7, 70000])
    assert x.byte().tolist() == [255, 7, 70000 % 256]
    assert x.short().tolist() == np.array([-1, 263, 70000]).astype(np.int16).tolist()
    assert facula.tensor([-1.75, 2.5]).short().tolist() == [-1, 2]


@pytest.mark.parametrize("name", ["cfloat", "cdouble"])
def test_complex_conversion_is_differentiated(name):
    x = facula.rand(3, dtype=facula.float64, requires_grad=True)
    z = (getattr(x, name)() * 2j).imag.sum()
    z.backward()
    assert x.grad.tolist() == [2, 2, 2]
    assert x.grad.dtype == facula.float64


def test_conversion_keeps_or_takes_a_memory_format():
    x = facula.ones(2, 3, 4, 5).contiguous(memory_format=facula.channels_last)
    assert x.short().is_contiguous(memory_format=facula.channels_last)
    assert x.byte(memory_format=facula.contiguous_format).is_contiguous()


def test_type_as_is_the_tensor_itself_where_nothing_changes():
    x = facula.ones(2, requires_grad=True)
    assert x.type_as(facula.zeros(3)) is x
    x.type_as(facula.zeros(1, dtype=facula.float64)).sum().backward()
    assert (x.grad.tolist(), x.grad.dtype) == ([1, 1], facula.float32)


@pytest.mark.skipif(facula.cuda.is_available(), reason="there is a GPU")
def test_cuda_without_a_gpu_says_so():
    x = facula.ones(2)
    for call in (x.cuda, lambda: x.cuda(0), lambda: x.cuda("cuda")):
        with pytest.raises(RuntimeError, match=r"cuda: .*\. Use device='cpu', or ask facula.cuda"):
            call()


def test_clone_without_a_format_keeps_the_order_in_memory():
    x = facula.zeros(1, 3, 4, 4).contiguous(memory_format=facula.channels_last)
    assert x.clone(memory_format=None).stride() == x.stride()
    plain = x.clone(memory_format=facula.contiguous_format)
    assert plain.is_contiguous()


HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def test_every_half_becomes_its_float_one_by_one_and_in_a_row():
    x = facula.tensor(HALVES)
    numbers = HALVES.astype(np.float32)
    np.testing.assert_array_equal(np.float32(x.tolist()), numbers)
    np.testing.assert_array_equal(x.float().numpy(), numbers)


def test_floats_are_rounded_to_the_nearest_half_one_by_one_and_in_a_row():
    finite = np.sort(HALVES[np.isfinite(HALVES)].astype(np.float64))
    middles = (finite[1:] + finite[:-1]) / 2  # exact in float32
    near = np.float32(
        [middles, np.nextafter(middles.astype(np.float32), np.float32(0)), finite[1:]]
    )
    ends = np.float32([65519.99, 65520, -65520, 1e30, np.inf, -np.inf, np.nan, 1e-30, -1e-45])
    numbers = np.concatenate([near.ravel(), ends])
    with np.errstate(over="ignore"):
        expected = numbers.astype(np.float16)
    in_a_row = facula.tensor(numbers).half().numpy()
    one_by_one = facula.tensor(numbers.tolist(), dtype=facula.float16).numpy()
    for found in (in_a_row, one_by_one):
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "int32", "int64", "bool", "complex128"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_floats_become_other_numbers_in_rows_of_any_length_and_step(source, name, step):
    values = np.random.default_rng(0).uniform(0, 127, 1031)
    x = facula.tensor(values).to(getattr(facula, source))
    x = x.flip(0) if step < 0 else x[::step]
    cut = x.double().numpy()
    for n in (0, 1, 15, 16, 17, 500, len(cut)):
        y = x[:n].to(getattr(facula, name))
        np.testing.assert_array_equal(y.numpy(), cut[:n].astype(name))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("source", ["int8", "uint8", "int64", "bool", "float64", "complex64"])
def test_other_numbers_become_16_bit_floats_in_rows_of_any_length_and_step(source, name):
    x = facula.tensor(np.random.default_rng(0).integers(0, 100, 1031)).to(getattr(facula, source))
    dtype = getattr(facula, name)
    for part in (x, x[::2], x[:17], x[3:3]):
        expected = (part.real if part.is_complex() else part).double()
        assert facula.equal(part.to(dtype).double(), expected)


def test_floats_outside_of_8_bits_wrap_around_and_those_outside_of_all_integers_are_zero():
    numbers = [-1.5, 128, 255, 256, 1000, -129, 2.0**31, -(2.0**31), 2.0**31 + 256, 2.0**40, 3e38]
    x = facula.tensor([*numbers, float("inf"), float("nan")] * 3)
    bytes_of = [int(number) % 256 for number in numbers] + [0, 0]
    assert x.to(facula.uint8).tolist() == bytes_of * 3
    assert [b % 256 for b in x.to(facula.int8).tolist()] == bytes_of * 3


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
@pytest.mark.parametrize("name", METHODS)
def test_truths_become_zeros_and_ones(name, size):
    a = np.arange(size) % 3 == 0
    for x in (facula.tensor(a), facula.tensor(np.repeat(a, 2))[::2]):
        y = getattr(x, name)()
        assert y.dtype == METHODS[name]
        assert y.tolist() == a.astype(np.complex64 if y.is_complex() else np.float32).tolist()
