"""Memory shared with NumPy, DLPack and the buffer protocol."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from .frameworks import DTYPES, convert, facula
from .outcome import agree
from .strategies import LAYOUTS, numbered

WITH_NUMPY = [name for name in DTYPES if name != "bfloat16"]


@pytest.mark.parametrize("dtype", WITH_NUMPY)
def test_numpy_has_the_same_memory_strides_and_dtype(dtype: str) -> None:
    def program(lib: Any, x: Any) -> Any:
        array = x.numpy()
        made = array.shape, array.strides, str(array.dtype), array.flags.writeable
        if array.size:
            array.flat[0] = 0
        return x, made, array.tolist()

    for layout in LAYOUTS.values():
        for shape in ((2, 3), (), (0, 2)):
            agree(program, layout(numbered(shape, dtype)), kind="exact")


def test_bfloat16_has_no_numpy() -> None:
    agree(lambda lib, x: x.numpy(), numbered((2,), "bfloat16"))


@pytest.mark.parametrize("dtype", [*WITH_NUMPY, "uint16", "uint32", "uint64", "longdouble", "U4"])
def test_from_numpy_of_every_dtype(dtype: str) -> None:
    def program(lib: Any) -> Any:
        array = np.zeros((2, 3), dtype=dtype)
        made = lib.from_numpy(array)
        array[0, 0] = 1
        return made

    if dtype in WITH_NUMPY or dtype in ("longdouble", "U4"):
        agree(program, kind="exact")


ARRAYS: dict[str, Any] = {
    "transposed": lambda: np.arange(6).reshape(2, 3).T,
    "every second": lambda: np.arange(10)[::2],
    "a column": lambda: np.arange(6.0).reshape(2, 3)[:, 1],
    "Fortran": lambda: np.asfortranarray(np.arange(6).reshape(2, 3)),
    "0-d": lambda: np.array(5),
    "empty": lambda: np.empty((0, 3)),
    "backwards": lambda: np.arange(5)[::-1],
    "swapped bytes": lambda: np.arange(5).astype(">i8"),
    "objects": lambda: np.array([1, "a"], dtype=object),
    "dates": lambda: np.array(["2020-01-01"], dtype="datetime64[D]"),
    "records": lambda: np.zeros(2, dtype=[("a", "i4")]),
    "unaligned stride": lambda: np.zeros(9, dtype=np.uint8)[1:].view("i4"),
    "broadcast": lambda: np.broadcast_to(np.arange(3), (2, 3)).copy(),
    "a scalar": lambda: np.float64(2.5),
    "a list": lambda: [1, 2],
    "masked": lambda: np.ma.array([1, 2], mask=[0, 1]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_from_numpy_of_every_kind_of_array(name: str) -> None:
    agree(lambda lib: lib.from_numpy(ARRAYS[name]()), kind="exact")
    agree(lambda lib: lib.as_tensor(ARRAYS[name]()), kind="exact")
    agree(lambda lib: lib.tensor(ARRAYS[name]()), kind="exact")


def _array_facts(array: Any) -> Any:
    return type(array).__name__, str(array.dtype), array.shape, array.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "np.asarray(x)",
        "np.array(x)",
        "np.asarray(x, dtype=np.int8)",
        "np.array(x, copy=True)",
        # Not np.array(x, copy=False): PyTorch's __array__ does not know copy= and raises.
        "np.array(x, dtype=np.float64, copy=False)",
        "np.asarray(x.t())",
        "np.asarray(x.clone().requires_grad_())",
        "np.stack([x, x])",
        "np.sum(np.asarray(x))",
        "np.asarray([x[0, 0], x[0, 1]])",
        "np.ones((2, 3)) * np.asarray(x)",
        "x.numpy(force=True)",
        "x.clone().requires_grad_().numpy(force=True)",
        "x.__array__()",
        "x.__array__(np.float16)",
    ],
)
def test_numpy_takes_tensors(text: str) -> None:
    def program(lib: Any, x: Any) -> Any:
        return _array_facts(eval(text, {"np": np, "x": x}))

    agree(program, numbered((2, 3), "float32"), kind="exact")


@pytest.mark.parametrize(
    "text",
    [
        "np.ones((2, 3), dtype=np.float32) + x",
        "x + np.ones((2, 3))",
        "x * np.float64(2)",
        "np.float64(2) * x",
        "np.exp(x)",
        "x == np.ones((2, 3))",
        "np.int64(3) + x",
    ],
)
def test_arithmetic_of_tensors_and_arrays(text: str) -> None:
    def program(lib: Any, x: Any) -> Any:
        made = eval(text, {"np": np, "x": x})
        return _array_facts(made) if isinstance(made, np.ndarray) else made

    agree(program, numbered((2, 3), "float32"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_between_the_frameworks_shares_memory(dtype: str) -> None:
    for layout in ("contiguous", "transposed", "strided"):
        for shape in ((2, 3), (), (0, 2)):
            theirs = LAYOUTS[layout](numbered(shape, dtype))
            ours = facula.from_dlpack(theirs)
            back = torch.from_dlpack(ours)
            assert tuple(ours.shape) == tuple(theirs.shape)
            assert ours.numel() < 2 or ours.stride() == theirs.stride()
            assert back.dtype == theirs.dtype
            assert back.equal(theirs)
            if theirs.numel():
                assert ours.data_ptr() == theirs.data_ptr() == back.data_ptr()
                ours.zero_()
                assert not theirs.any()


@pytest.mark.parametrize("dtype", [n for n in WITH_NUMPY if n != "bool"])
def test_dlpack_with_numpy(dtype: str) -> None:
    x = convert(facula, numbered((2, 3), dtype))
    array = np.from_dlpack(x)
    array_back = facula.from_dlpack(np.arange(6).reshape(2, 3).astype(dtype))
    assert array.tolist() == x.tolist()
    assert array_back.tolist() == np.arange(6).reshape(2, 3).astype(dtype).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "torch.from_dlpack(torch.ones(2).requires_grad_())",
        "torch.from_dlpack(1)",
        "torch.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2)))",
        "torch.ones(2).__dlpack_device__()",
        "torch.from_numpy(np.ones(2)).dtype",
        "torch.from_numpy(None)",
        "torch.from_numpy([1])",
    ],
)
def test_other_ways_in(text: str) -> None:
    agree(lambda lib: eval(text, {"torch": lib, "np": np}), kind="exact")


def test_a_dlpack_capsule_is_used_once() -> None:
    def program(lib: Any) -> Any:
        capsule = lib.utils.dlpack.to_dlpack(lib.ones(2))
        lib.from_dlpack(capsule)
        lib.from_dlpack(capsule)

    agree(program)


def test_numpy_keeps_the_memory_alive() -> None:
    array = convert(facula, numbered((1000,), "float32")).clone().numpy()
    expected = numbered((1000,), "float32").numpy()
    for _ in range(20):
        facula.zeros(1000)
    assert (array == expected).all()
