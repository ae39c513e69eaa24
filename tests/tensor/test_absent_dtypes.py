"""Dtypes of PyTorch that packages ask for by name, and that no tensor has here."""

import copy
import pickle

import pytest

import facula

NAMES = ["bits8", "float4_e2m1fn_x2", "int4", "qint8", "quint4x2", "uint1", "uint7"]


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_is_itself_wherever_it_comes_from(name):
    dtype = getattr(facula, name)
    assert repr(dtype) == f"torch.{name}"
    assert pickle.loads(pickle.dumps(dtype)) is dtype is copy.deepcopy(dtype)
    assert dtype == getattr(facula, name) and dtype != facula.float32
    assert {facula.uint8: 1, dtype: 2}[dtype] == 2
    assert dtype.to_real() is dtype and not dtype.is_complex


def test_a_dtype_says_what_it_holds():
    assert facula.float4_e2m1fn_x2.is_floating_point and facula.float4_e2m1fn_x2.is_signed
    assert facula.int4.is_signed and not facula.uint4.is_signed
    assert (facula.bits16.itemsize, facula.qint32.itemsize, facula.int7.itemsize) == (2, 4, 1)
    assert facula.bit is facula.uint1
    with pytest.raises(RuntimeError, match=r"torch\.bits8 is no type of plain numbers"):
        _ = facula.bits8.is_signed


def test_no_tensor_is_made_of_it():
    with pytest.raises(TypeError, match=r"got torch\.int4, of which there are no tensors"):
        facula.empty(2, dtype=facula.int4)
    with pytest.raises(TypeError, match=r"got torch\.int4, of which there are no tensors"):
        facula.nn.Linear(2, 2).to(facula.int4)


def test_a_module_moves_to_devices_and_dtypes_only():
    with pytest.raises(TypeError, match=r"Module\.to: expected a device, a dtype or a .*got float"):
        facula.nn.Linear(2, 2).to(3.5)
