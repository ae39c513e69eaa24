"""Broadcasting, turning, and diagonals in place."""

import numpy as np
import pytest

import facula
from check_op import check_op

SOME = ["float32", "int64"]
FLOATS = ["float32"]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_atleast_agrees_with_numpy(name, shape):
    check_op(getattr(facula, name), getattr(np, name), [shape], dtypes=FLOATS)


def test_atleast_of_several_tensors_is_a_tuple():
    result = facula.atleast_2d(facula.tensor(1.0), facula.ones(2))
    assert [tuple(t.shape) for t in result] == [(1, 1), (1, 2)]


@pytest.mark.parametrize("k", [-1, 0, 1, 2, 3, 4])
def test_rot90_agrees_with_numpy(k):
    check_op(lambda x: facula.rot90(x, k), lambda a: np.rot90(a, k), [(2, 3)], dtypes=FLOATS)
    check_op(
        lambda x: facula.rot90(x, k, (2, 0)),
        lambda a: np.rot90(a, k, (2, 0)),
        [(2, 3, 4)],
        dtypes=FLOATS,
    )


def test_flips_agree_with_numpy():
    check_op(facula.fliplr, np.fliplr, [(2, 3)], dtypes=FLOATS)
    check_op(facula.flipud, np.flipud, [(2, 3)], dtypes=FLOATS)


def test_ravel_copies_only_where_it_must():
    x = facula.arange(6).reshape(2, 3)
    assert facula.ravel(x).data_ptr() == x.data_ptr()
    assert facula.ravel(x.t()).tolist() == [0, 3, 1, 4, 2, 5]


def test_unflatten_is_a_view_with_one_size_inferred():
    x = facula.arange(24).reshape(2, 12)
    y = facula.unflatten(x, -1, (3, -1))
    assert y.shape == (2, 3, 4)
    assert y.data_ptr() == x.data_ptr()
    assert x.unflatten(1, (2, 6)).shape == (2, 2, 6)
    with pytest.raises(RuntimeError, match=r"sizes \[5, -1\] do not multiply to 12"):
        facula.unflatten(x, 1, (5, -1))


def test_broadcasting_follows_numpy():
    assert facula.broadcast_shapes((2, 1), 3, (1, 1, 1)) == (1, 2, 3)
    a, b = facula.broadcast_tensors(facula.ones(2, 1), facula.ones(3))
    assert a.shape == b.shape == (2, 3)
    assert a.stride() == (1, 0)
    with pytest.raises(RuntimeError, match=r"\(2,\), \(3,\) differ in dimension -1"):
        facula.broadcast_shapes((2,), (3,))


def test_fill_diagonal_writes_in_place_and_wraps_on_request():
    x = facula.zeros(7, 3)
    assert x.fill_diagonal_(1) is x
    assert x.nonzero().tolist() == [[0, 0], [1, 1], [2, 2]]
    x.fill_diagonal_(1, wrap=True)
    assert x.nonzero().tolist() == [[0, 0], [1, 1], [2, 2], [4, 0], [5, 1], [6, 2]]
    assert facula.zeros(2, 2, 2).fill_diagonal_(3).sum() == 6


def test_fill_diagonal_cuts_the_gradient_of_what_it_overwrites():
    x = facula.ones(2, 2, requires_grad=True)
    (x * 2).fill_diagonal_(5).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0], [2.0, 0.0]]


@pytest.mark.parametrize("shape", [(3,), (2, 2, 3)])
def test_fill_diagonal_refuses_other_shapes(shape):
    with pytest.raises(RuntimeError, match="fill_diagonal_: expected"):
        facula.ones(shape).fill_diagonal_(0)
