"""Tensors from sizes and numbers in Python."""

import pytest

import facula


def test_empty_permuted_is_dense_in_the_order_given():
    assert facula.empty_permuted((2, 3, 5), (1, 2, 0)).stride() == (1, 10, 2)
    with pytest.raises(RuntimeError, match="empty_permuted: expected a place in memory for each"):
        facula.empty_permuted((2, 3), (0,))
    with pytest.raises(RuntimeError, match="empty_permuted: expected each of the dimensions"):
        facula.empty_permuted((2, 3), (0, 0))


def test_new_empty_strided_takes_the_dtype_of_the_tensor():
    x = facula.ones(1, dtype=facula.int8).new_empty_strided((2, 3), (1, 2))
    assert (x.dtype, x.stride()) == (facula.int8, (1, 2))


@pytest.mark.parametrize(
    "bounds, dtype, values",
    [
        ((1, 3), None, [1.0, 2.0, 3.0]),
        ((1, 3), "int64", [1, 2, 3]),
        ((3, 1, -1), "int32", [3, 2, 1]),
        ((0, 1, 0.25), "float64", [0.0, 0.25, 0.5, 0.75, 1.0]),
        ((0, 0.9, 0.25), "float64", [0.0, 0.25, 0.5, 0.75]),
    ],
)
def test_range_includes_its_end(bounds, dtype, values):
    with pytest.warns(UserWarning, match="range: is deprecated"):
        x = facula.range(*bounds, dtype=dtype and getattr(facula, dtype))
    assert x.tolist() == values
    assert x.dtype == getattr(facula, dtype or "float32")


@pytest.mark.filterwarnings("ignore:range")
def test_range_refuses_steps_that_do_not_lead_to_its_end():
    with pytest.raises(RuntimeError, match="range: step must be nonzero"):
        facula.range(1, 2, 0)
    with pytest.raises(RuntimeError, match="range: steps of 1 do not lead from 2 to 1"):
        facula.range(2, 1)
