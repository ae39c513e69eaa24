"""finfo and iinfo."""

import numpy as np
import pytest

import facula

pytestmark = pytest.mark.promise("T7")


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_finfo_agrees_with_numpy(name):
    ours, theirs = facula.finfo(getattr(facula, name)), np.finfo(name)
    for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal"):
        assert getattr(ours, field) == getattr(theirs, field), field
    assert ours.dtype == name


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64"])
def test_iinfo_agrees_with_numpy(name):
    ours, theirs = facula.iinfo(getattr(facula, name)), np.iinfo(name)
    assert (ours.bits, ours.min, ours.max) == (theirs.bits, theirs.min, theirs.max)


def test_limits_print_as_in_pytorch():
    assert repr(facula.finfo(facula.bfloat16)) == (
        "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=bfloat16)"
    )
    assert repr(facula.iinfo(facula.int64)) == (
        "iinfo(min=-9.22337e+18, max=9.22337e+18, dtype=int64)"
    )


def test_finfo_of_the_default_a_complex_and_a_python_type():
    assert facula.finfo() == facula.finfo(facula.complex64) == facula.finfo(facula.float32)
    assert facula.finfo(float) == facula.finfo(facula.float64)


def test_the_wrong_kind_of_dtype_is_refused():
    with pytest.raises(TypeError, match="finfo: expected a floating-point dtype"):
        facula.finfo(facula.int8)
    with pytest.raises(TypeError, match="iinfo: expected an integer dtype"):
        facula.iinfo(facula.bool)
    with pytest.raises(TypeError, match="finfo: expected a dtype, got 3"):
        facula.finfo(3)
