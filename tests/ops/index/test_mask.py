"""masked_scatter: the elements of a source, in order, where a mask is true."""

import numpy as np
import pytest

import facula
from check_op import check_op

MASK = np.array([[True, False, True], [False, True, False]])


def placed(a, b):
    result = a.copy()
    result[MASK] = b.reshape(-1)[: MASK.sum()]
    return result


def test_masked_scatter_agrees_with_numpy():
    mask = facula.tensor(MASK)
    for shape in [(3,), (2, 2), (5,)]:
        check_op(
            lambda x, y: facula.masked_scatter(x, mask, y),
            placed,
            [(2, 3), shape],
            dtypes=["float16", "float32", "float64", "int64"],
            differentiable=False,
        )
        check_op(
            lambda x, y: x.masked_scatter(mask, y), placed, [(2, 3), shape], dtypes=["float64"]
        )


@pytest.mark.promise("T5")
def test_masked_scatter_in_place_writes_the_same():
    x, source = facula.zeros(3, 2).t(), facula.tensor([1.0, 2.0, 3.0])
    assert x.masked_scatter_(facula.tensor(MASK), source) is x
    assert x.tolist() == [[1, 0, 2], [0, 3, 0]]


def test_the_mask_of_masked_scatter_broadcasts():
    x, mask = facula.zeros(2, 3), facula.tensor([True, False, True])
    assert x.masked_scatter(mask, facula.arange(1.0, 5.0)).tolist() == [[1, 0, 2], [3, 0, 4]]
    assert facula.empty(0, 3).masked_scatter(mask, facula.empty(0)).shape == (0, 3)
    with pytest.raises(
        RuntimeError, match="masked_scatter: expected at least 4 elements in source"
    ):
        x.masked_scatter(mask, facula.ones(3))
    with pytest.raises(RuntimeError, match="masked_scatter"):
        x.masked_scatter(facula.tensor([1, 0, 1]), facula.ones(6))
