"""Tensors from numbers."""

import pytest

import facula


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
