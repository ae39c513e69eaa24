"""Dtypes that are stored, moved and converted, but not computed with, or by few operations."""

import copy
import io
import pickle

import numpy as np
import pytest

import facula
from facula.serialization import safetensors

UNSIGNED = [facula.uint16, facula.uint32, facula.uint64]
FLOAT8 = [
    facula.float8_e4m3fn,
    facula.float8_e5m2,
    facula.float8_e4m3fnuz,
    facula.float8_e5m2fnuz,
]
STORED = [*UNSIGNED, *FLOAT8, facula.float8_e8m0fnu, facula.complex32]


def numbers(dtype):
    return facula.tensor([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]).to(dtype)


@pytest.mark.parametrize("dtype", STORED)
def test_elements_are_moved_and_come_back(dtype):
    x = numbers(dtype)
    expected = facula.tensor([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
    if dtype == facula.complex32:
        expected = expected.cfloat()
    moves = {
        "clone": lambda x: x.clone(),
        "contiguous": lambda x: x.t().contiguous(),
        "slice": lambda x: x[:, 1:],
        "index": lambda x: x[facula.tensor([1, 0])],
        "mask": lambda x: x[facula.tensor([[True, False, True], [False, True, False]])],
        "index_select": lambda x: facula.index_select(x, 1, facula.tensor([2, 0])),
        "cat": lambda x: facula.cat([x, x], 1),
        "stack": lambda x: facula.stack([x, x]),
        "where": lambda x: facula.where(facula.tensor([True, False, True]), x, x),
        "expand": lambda x: x[0].expand(3, 3).clone(),
        "repeat": lambda x: x.repeat(2, 2),
        "copy_": lambda x: facula.empty_like(x).copy_(x),
        "flip of a copy": lambda x: copy.deepcopy(x)[:1],
    }
    for name, move in moves.items():
        moved = move(x)
        assert moved.dtype == dtype, name
        assert moved.to(expected.dtype).tolist() == move(expected).tolist(), name


@pytest.mark.parametrize("dtype", STORED)
def test_elements_are_written_one_by_one(dtype):
    x = facula.zeros(3).to(dtype)
    x[1] = 2
    x[facula.tensor([0])] = facula.tensor([4.0]).to(dtype)
    assert [complex(v).real for v in x.tolist()][:2] == [4, 2]
    assert complex(x.fill_(1)[2].item()).real == 1


@pytest.mark.parametrize("dtype", STORED)
def test_arithmetic_is_refused(dtype):
    x = numbers(dtype)
    calls = [
        lambda: x + x,
        lambda: x.square(),
        lambda: x.sum(dtype=dtype),
        lambda: x @ x.t(),
        lambda: x.topk(1),
        lambda: x < x,
        lambda: facula.nn.functional.layer_norm(x, (3,)),
        lambda: facula.nn.functional.softmax(x, 1),
        lambda: facula.nn.functional.dropout(x),
        lambda: x.scatter_add(0, facula.tensor([[0]]), x),
        lambda: x.nonzero(),
        lambda: facula.arange(3, dtype=dtype),
        lambda: facula.randn(3, dtype=dtype),
        lambda: x.max(),
        lambda: x.clamp(0, 1),
    ]
    if dtype not in UNSIGNED:  # with which PyTorch does these: test_unsigned.py
        calls += [lambda: x.sum(), lambda: x.sort(), lambda: x.unique(), lambda: x * x]
    for call in calls:
        with pytest.raises((NotImplementedError, RuntimeError, TypeError)):
            call()


@pytest.mark.parametrize("dtype", [*FLOAT8, facula.complex32])
def test_floats_of_8_bits_are_not_taken_for_integers(dtype):
    for call in (lambda x: x.exp(), lambda x: x.cumsum(0)):
        with pytest.raises(NotImplementedError, match=r"not (implemented|defined) for"):
            call(numbers(dtype))


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_unsigned_integers_hold_their_range(dtype):
    largest = facula.iinfo(dtype).max
    x = facula.tensor([0, largest], dtype=dtype)
    assert x.tolist() == [0, largest]
    assert x[1].item() == largest
    assert x.numpy().dtype == np.dtype(str(dtype).rpartition(".")[2])
    assert facula.from_numpy(x.numpy()).tolist() == [0, largest]
    assert repr(x) == f"tensor([{'0':>{len(str(largest))}}, {largest}], dtype={dtype})"
    if dtype == facula.uint64:  # which Python itself converts to
        for wrong in (-1, largest + 1):
            with pytest.raises(OverflowError):
                facula.tensor([wrong], dtype=dtype)
        return
    assert facula.tensor([-1, -largest], dtype=dtype).tolist() == [largest, 1]
    for wrong in (-largest - 1, largest + 1):
        with pytest.raises(RuntimeError, match="does not fit"):
            facula.tensor([wrong], dtype=dtype)


def test_conversions_of_unsigned_integers_wrap_around():
    x = facula.tensor([-1, 70000])
    assert x.to(facula.uint16).tolist() == [65535, 4464]
    assert x.to(facula.uint64).tolist() == [2**64 - 1, 70000]
    assert facula.tensor([2**64 - 1], dtype=facula.uint64).to(facula.int64).tolist() == [-1]
    assert facula.tensor([2**63], dtype=facula.uint64).float().tolist() == [2.0**63]


@pytest.mark.parametrize("dtype", FLOAT8)
def test_all_bytes_of_float8_convert_to_float_and_back(dtype):
    codes = facula.arange(256, dtype=facula.int64).to(facula.uint8)
    values = codes.view(dtype).float()
    back = values.to(dtype).view(facula.uint8)
    is_number = ~values.isnan()
    assert back[is_number].tolist() == codes[is_number].tolist()
    assert values[is_number & ~values.isinf()].abs().max().item() == facula.finfo(dtype).max


@pytest.mark.parametrize("dtype", FLOAT8)
def test_float8_rounds_to_the_nearest_even(dtype):
    values = facula.arange(256).to(facula.uint8).view(dtype).float()
    values = values[values.isfinite() & (values >= 0)].unique()
    middles = (values[1:] + values[:-1]) / 2
    rounded = middles.to(dtype)
    assert (rounded.view(facula.uint8) % 2 == 0).all()
    assert ((rounded.float() - middles).abs() * 2 == values[1:] - values[:-1]).all()


def test_numbers_beyond_float8_become_what_the_format_has():
    beyond = facula.tensor([1e6, -1e6, float("inf"), float("nan")])
    assert beyond.to(facula.float8_e5m2).float().isinf().tolist() == [True, True, True, False]
    for dtype in (facula.float8_e4m3fn, facula.float8_e4m3fnuz, facula.float8_e5m2fnuz):
        assert beyond.to(dtype).float().isnan().all()


@pytest.mark.parametrize("dtype", STORED)
def test_files_and_pickles_keep_the_dtype(dtype, tmp_path):
    x = numbers(dtype)
    file = io.BytesIO()
    facula.save({"x": x}, file)
    file.seek(0)
    for back in (facula.load(file)["x"], pickle.loads(pickle.dumps(x))):
        assert back.dtype == dtype
        assert back.view(facula.uint8).tolist() == x.view(facula.uint8).tolist()


@pytest.mark.parametrize("dtype", [*UNSIGNED, facula.float8_e4m3fn, facula.float8_e5m2])
def test_safetensors_keep_the_dtype(dtype, tmp_path):
    safetensors.save_file({"x": numbers(dtype)}, tmp_path / "x.safetensors")
    back = safetensors.load_file(tmp_path / "x.safetensors")["x"]
    assert back.dtype == dtype
    assert back.float().tolist() == numbers(dtype).float().tolist()


def test_kinds_of_stored_dtypes():
    assert facula.float8_e5m2.is_floating_point
    assert facula.complex32.is_complex
    assert not facula.uint32.is_signed
    assert facula.chalf is facula.complex32
    assert facula.float16.to_complex() == facula.complex32
    assert facula.zeros(2, dtype=facula.float8_e4m3fn).is_floating_point()
    assert facula.promote_types(facula.uint16, facula.float32) == facula.float32
    assert facula.promote_types(facula.complex32, facula.int64) == facula.complex32
    with pytest.raises(RuntimeError, match="no dtype is known to hold both"):
        facula.promote_types(facula.uint16, facula.int64)


def test_half_pairs_are_viewed_as_complex_numbers():
    x = facula.tensor([[1.0, 2.0]]).half()
    assert facula.view_as_complex(x).dtype == facula.complex32
    assert facula.view_as_complex(x).tolist() == [1 + 2j]


def test_python_integers_from_2_to_the_63_on_are_those_of_uint64():
    x = facula.ones(2)
    assert (x + 2**63).tolist() == [2.0**63, 2.0**63]
    assert (x < 2**64 - 1).all()
    assert (facula.ones(1, dtype=facula.int64) + (2**64 - 1)).tolist() == [0]
    for call in (
        lambda: x + 2**64,
        lambda: 2**64 - x,
        lambda: x == 2**64,
        lambda: x < -(2**63) - 1,
        lambda: x.fill_(2**64),
    ):
        with pytest.raises(OverflowError):
            call()
