"""What a tensor answers about itself."""

import math

import pytest

import facula

SIGNED = {
    "bool": False,
    "uint8": False,
    "int8": True,
    "int16": True,
    "int64": True,
    "float16": True,
    "bfloat16": True,
    "float64": True,
    "complex64": True,
}


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 1, 4), (2, 0, 3)])
def test_dimensions_and_elements_are_counted(shape):
    x = facula.empty(shape)
    assert x.ndimension() == x.dim() == x.ndim == len(shape)
    assert x.nelement() == x.numel() == math.prod(shape)
    assert x.expand(2, *shape).nelement() == 2 * math.prod(shape)


@pytest.mark.parametrize("dtype", SIGNED)
def test_is_signed_is_whether_the_dtype_has_negative_values(dtype):
    x = facula.ones(2, dtype=getattr(facula, dtype))
    assert x.is_signed() is facula.is_signed(x) is SIGNED[dtype]


@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "float32", "complex64"])
def test_is_nonzero_looks_at_the_only_element(dtype):
    for shape in [(), (1,), (1, 1)]:
        x = facula.ones(shape, dtype=getattr(facula, dtype))
        assert x.is_nonzero() is facula.is_nonzero(x) is True
        assert facula.is_nonzero(x.logical_not()) is False
    assert facula.tensor(float("nan")).is_nonzero()
    assert not facula.tensor(-0.0).is_nonzero()
    for shape in [(2,), (0,)]:
        with pytest.raises(RuntimeError, match="is_nonzero: expected a tensor of one element, got"):
            facula.ones(shape).is_nonzero()


def test_is_same_size_compares_shapes_only():
    x = facula.ones(2, 3)
    assert x.is_same_size(facula.zeros(3, 2, dtype=facula.int64).t())
    assert facula.is_same_size(facula.tensor(1), facula.tensor(2.0))
    assert not facula.is_same_size(x, facula.ones(3, 2))
    assert not x.is_same_size(facula.ones(1, 2, 3))


def test_is_set_to_finds_the_same_view_of_the_same_storage():
    x = facula.arange(6.0).reshape(2, 3)
    assert x.is_set_to(x) and x.is_set_to(x.detach()) and x.is_set_to(x.view(2, 3))
    assert facula.empty(0).set_(x).is_set_to(x)
    for other in (x.clone(), x.t(), x[:1], x[1:], x.view(6)):
        assert not x.is_set_to(other)


def test_get_device_of_the_cpu_is_minus_one():
    assert facula.ones(2).get_device() == -1


def test_memory_is_shared_from_then_on_with_all_its_views():
    x = facula.arange(4.0)
    view = x[1:]
    assert not x.is_shared() and not view.is_shared()
    assert x.share_memory_() is x
    assert x.is_shared() and view.is_shared()
    view[0] = 9
    assert x.tolist() == [0, 9, 2, 3]
    assert x.share_memory_() is x
    assert facula.empty(0).share_memory_().is_shared()


def test_a_tensor_becomes_an_object_of_a_subclass_over_the_same_memory():
    class Marked(facula.Tensor):
        pass

    x = facula.ones(2, requires_grad=True)
    marked = x.as_subclass(Marked)
    assert type(marked) is Marked
    assert marked.data_ptr() == x.data_ptr()
    assert type(marked * 2) is Marked
    assert type(marked.as_subclass(facula.Tensor)) is facula.Tensor
    (marked * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(TypeError, match="as_subclass: expected a subclass of Tensor, got"):
        x.as_subclass(int)


def test_nothing_is_a_tensor_but_a_tensor():
    assert [facula.is_tensor(x) for x in (facula.ones(1), None, 3, "a")] == [True] + [False] * 3


def test_the_result_of_half_and_a_complex_number_would_be_complex32():
    half = facula.ones(2, dtype=facula.float16)
    for number in (1j, facula.tensor(1j)):
        assert facula.result_type(half, number) == facula.complex32
        assert facula.result_type(number, half) == facula.complex32
    assert facula.result_type(half, facula.tensor([1j])) == facula.complex64
    assert facula.result_type(half.bfloat16(), 1j) == facula.complex64
