"""Joining and splitting."""

import numpy as np
import pytest

import facula
from check_op import check_op

SOME = ["float32", "int64"]
FLOATS = ["float32"]


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
def test_stacks_agree_with_numpy(name, shape):
    check_op(
        lambda a, b: getattr(facula, name)((a, b)),
        lambda a, b: getattr(np, name)((a, b)),
        [shape, shape],
        dtypes=FLOATS,
    )


@pytest.mark.parametrize("sections", [1, 2, 3, 7, (1,), (1, 3), (-1,), (9,), ()])
@pytest.mark.parametrize("dim", [0, 1])
def test_tensor_split_agrees_with_numpy(sections, dim):
    a = np.arange(20).reshape(5, 4)
    parts = facula.tensor_split(facula.tensor(a), sections, dim)
    for part, expected in zip(parts, np.array_split(a, sections, dim), strict=True):
        assert part.tolist() == expected.tolist()


def test_splits_are_views():
    x = facula.zeros(4, 4, 4)
    for split in (facula.hsplit, facula.vsplit, facula.dsplit):
        for part in split(x, 2):
            part.add_(1)
    assert x.unique().tolist() == [3]


def test_uneven_splits_are_refused():
    with pytest.raises(RuntimeError, match=r"vsplit: dimension 0 of \(3, 2\) does not divide"):
        facula.vsplit(facula.ones(3, 2), 2)
    with pytest.raises(RuntimeError, match="dsplit: expected at least 3 dimensions"):
        facula.dsplit(facula.ones(3, 2), 1)


def test_more_parts_than_memory_can_hold_are_refused():
    with pytest.raises(RuntimeError, match=r"^tensor_split: 1099511627776 parts are more than"):
        facula.tensor_split(facula.arange(5), 2**40)
