"""The written-out names of cat."""

import numpy as np
import pytest

import facula
from check_op import check_op


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["cat", "concat", "concatenate"])
def test_every_name_joins_along_a_dimension(name, dim):
    join = getattr(facula, name)
    check_op(
        lambda *xs: join(xs, dim),
        lambda *arrays: np.concatenate(arrays, dim),
        [(2, 3), (2, 3)],
        dtypes=["float16", "float32", "float64"],
    )
    assert join([facula.ones(1), facula.tensor([2])]).tolist() == [1, 2]
    with pytest.raises((RuntimeError, ValueError), match="cat"):
        join([])
