"""The buffer protocol, NumPy and DLPack: memory shared with other libraries."""

import gc
import io
import sys
import warnings

import numpy as np
import pytest

import facula
from facula.utils import dlpack

FORMATS = {
    "bool": "?",
    "uint8": "B",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "l",
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "complex64": "Zf",
    "complex128": "Zd",
}


@pytest.mark.promise("T6")
@pytest.mark.parametrize("name", FORMATS)
def test_buffer_has_shape_strides_and_format(name):
    x = facula.zeros(2, 3, dtype=getattr(facula, name)).t()
    view = memoryview(x)
    assert view.format == FORMATS[name]
    assert view.shape == (3, 2)
    assert view.strides == (x.itemsize, 3 * x.itemsize)
    assert not view.readonly


@pytest.mark.promise("T6")
def test_writes_through_a_buffer_are_seen():
    x = facula.zeros(3)
    memoryview(x)[1] = 5.0
    assert x.tolist() == [0, 5, 0]


def test_buffer_of_what_cannot_be_shared_is_refused():
    with pytest.raises(BufferError, match="detach"):
        memoryview(facula.ones(2, requires_grad=True))
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(facula.ones(2, dtype=facula.bfloat16))
    with pytest.raises(BufferError, match="contiguous"):
        io.BytesIO().write(facula.ones(2, 3).t())


def test_exported_memory_outlives_its_tensor_and_cannot_be_resized():
    x = facula.arange(1000)
    array = x.numpy()
    with pytest.raises(RuntimeError, match="shared with another library"):
        x.resize_(10**6)
    x.set_(facula.zeros(1, dtype=facula.int64))
    del x
    gc.collect()
    facula.zeros(1000, dtype=facula.int64)
    assert array[-1] == 999


@pytest.mark.promise("T6")
def test_numpy_is_the_dtype_that_numpy_users_expect():
    assert type(facula.ones(1, dtype=facula.int64).numpy()[0]) is np.int64
    assert facula.ones(2, dtype=facula.complex64).numpy().dtype == np.complex64
    assert facula.tensor(2.5).numpy().shape == ()
    assert facula.zeros(2, 0).numpy().shape == (2, 0)


def test_numpy_refuses_what_it_cannot_show():
    with pytest.raises(RuntimeError, match="detach"):
        facula.ones(2, requires_grad=True).numpy()
    with pytest.raises(TypeError, match="bfloat16"):
        facula.ones(2, dtype=facula.bfloat16).numpy()
    assert facula.ones(2, requires_grad=True).numpy(force=True).tolist() == [1, 1]


@pytest.mark.promise("T6")
def test_array_follows_the_copy_rules_of_numpy_2():
    x = facula.ones(2)
    assert np.shares_memory(np.array(x, copy=False), x.numpy())
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    with pytest.raises(ValueError, match="copy"):
        np.array(x, dtype=np.float64, copy=False)
    assert x.__array__(np.float16).dtype == np.float16


def test_numpy_functions_of_tensors_give_tensors():
    y = np.exp(facula.zeros(2))
    assert isinstance(y, facula.Tensor)
    assert y.tolist() == [1, 1]
    assert np.isfinite(facula.zeros(2)).dtype == facula.uint8


def test_from_numpy_refuses_what_tensors_cannot_express():
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got list\)"):
        facula.from_numpy([1])
    with pytest.raises(TypeError, match="<U1"):
        facula.from_numpy(np.array(["a"]))
    with pytest.raises(TypeError, match="object"):
        facula.from_numpy(np.array([None]))
    with pytest.raises(TypeError, match="datetime"):
        facula.from_numpy(np.array(["2020"], dtype="datetime64[Y]"))
    with pytest.raises(ValueError, match="negative"):
        facula.from_numpy(np.arange(3)[::-1])
    with pytest.raises(ValueError, match="byte order"):
        facula.from_numpy(np.arange(3).astype(">i4"))
    with pytest.raises(ValueError, match="multiples"):
        facula.from_numpy(np.zeros(3, dtype=[("a", "i1"), ("b", "i4")])["b"])


def test_from_numpy_warns_of_read_only_arrays():
    array = np.zeros(2)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        facula.from_numpy(array)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert facula.tensor(array).tolist() == [0, 0]


def test_arrays_and_tensors_do_not_leak():
    array = np.zeros(10)
    before = sys.getrefcount(array)
    for _ in range(100):
        x = facula.from_numpy(array)
        x.numpy()
        facula.from_dlpack(array)
        np.from_dlpack(x)
        dlpack.to_dlpack(x)
    del x
    assert sys.getrefcount(array) == before


@pytest.mark.promise("T6")
def test_as_tensor_and_asarray_share_where_they_can():
    array = np.zeros(2, np.float32)
    x = facula.ones(2)
    assert facula.as_tensor(x) is x
    assert facula.asarray(x) is x
    assert facula.asarray(array).data_ptr() == facula.as_tensor(array).data_ptr()
    assert facula.asarray(array, copy=True).data_ptr() != facula.asarray(array).data_ptr()
    assert facula.as_tensor(array, dtype=facula.float64).dtype == facula.float64
    assert facula.asarray(np.float32(3)).dtype == facula.float32
    with pytest.raises(ValueError, match="copy=False"):
        facula.asarray([1], copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        facula.asarray(x, dtype=facula.int8, copy=False)


def test_asarray_of_a_leaf_keeps_or_cuts_requires_grad():
    x = facula.ones(2, requires_grad=True)
    assert facula.asarray(x).requires_grad
    assert not facula.asarray(x, requires_grad=False).requires_grad
    assert facula.asarray([1.0], requires_grad=True).requires_grad


@pytest.mark.promise("T6")
def test_frombuffer_shares_memory():
    data = bytearray(b"abcdefgh")
    x = facula.frombuffer(data, dtype=facula.uint8, offset=2, count=3)
    assert x.tolist() == list(b"cde")
    data[2] = 0
    assert x.tolist() == [0, 100, 101]
    with pytest.raises(BufferError):
        data.append(1)


@pytest.mark.parametrize(
    "data, options",
    [
        (b"", {}),
        (b"abcd", {"count": 0}),
        (b"abcd", {"count": 3}),
        (b"abcd", {"offset": 4}),
        (b"abcd", {"offset": -1}),
        (b"abc", {}),
        (b"abcd", {"count": 2**62}),
    ],
)
def test_frombuffer_refuses_ranges_outside(data, options):
    with pytest.raises(ValueError, match="frombuffer"):
        facula.frombuffer(bytearray(data), dtype=facula.int16, **options)


def test_frombuffer_warns_of_read_only_memory_and_refuses_other_objects():
    with pytest.warns(UserWarning, match="not writable"):
        facula.frombuffer(b"ab", dtype=facula.uint8)
    with pytest.raises(ValueError, match="buffer protocol"):
        facula.frombuffer([1], dtype=facula.uint8)


@pytest.mark.promise("T6")
@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 1)])
def test_dlpack_capsules_share_memory_in_every_version(version):
    x = facula.arange(6).view(2, 3).t()
    capsule = x.__dlpack__(max_version=version)
    y = facula.from_dlpack(capsule)
    assert y.data_ptr() == x.data_ptr()
    assert y.stride() == x.stride()
    with pytest.raises(RuntimeError, match="once"):
        facula.from_dlpack(capsule)


@pytest.mark.promise("T6")
def test_dlpack_has_every_dtype():
    for name in [*FORMATS, "bfloat16"]:
        x = facula.ones(2, dtype=getattr(facula, name))
        assert facula.from_dlpack(x).dtype == x.dtype


def test_dlpack_refuses_what_it_cannot_express():
    x = facula.ones(2)
    with pytest.raises(BufferError, match="detach"):
        facula.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(TypeError, match="stream"):
        x.__dlpack__(stream="a")
    with pytest.raises(AssertionError, match="stream"):
        x.__dlpack__(stream=1)
    with pytest.raises(ValueError, match="without a copy"):
        x.__dlpack__(dl_device=(2, 0), copy=False)
    with pytest.raises(BufferError, match="device"):
        x.__dlpack__(dl_device=(99, 0))
    with pytest.raises(BufferError, match="negative"):
        facula.from_dlpack(np.arange(3)[::-1])
    with pytest.raises(RuntimeError, match="capsule"):
        facula.from_dlpack(1)


def test_dlpack_copies_on_demand():
    x = facula.ones(2)
    assert facula.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert facula.from_dlpack(x, copy=False).data_ptr() == x.data_ptr()
    assert facula.from_dlpack(x, device="cpu").data_ptr() == x.data_ptr()
    assert x.__dlpack_device__() == (1, 0)


class Producer:
    """An array library from before DLPack 1.0: no max_version."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, stream=None):
        return self.x.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def test_dlpack_takes_producers_of_the_older_protocol():
    x = facula.ones(2)
    assert facula.from_dlpack(Producer(x)).data_ptr() == x.data_ptr()
    assert facula.asarray(Producer(x)).data_ptr() == x.data_ptr()
    assert facula.tensor(Producer(x)).data_ptr() != x.data_ptr()


def test_numpy_shows_a_leaf_where_nothing_is_recorded():
    x = facula.ones(2, requires_grad=True)
    with facula.no_grad():
        x.numpy()[0] = 5
    assert x.tolist() == [5, 1]
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()


def test_a_tensor_of_meta_has_no_memory_for_a_capsule():
    with pytest.raises(BufferError, match="on meta"):
        facula.utils.dlpack.to_dlpack(facula.rand(2, 3, device="meta")[1:])
