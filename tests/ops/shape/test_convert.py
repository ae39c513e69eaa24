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
