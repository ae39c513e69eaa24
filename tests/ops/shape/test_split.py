"""Pieces of given sizes, and pieces that may be written to."""

import numpy as np
import pytest

import facula

SIZES = [([1, 2], 1), ([0, 3], -1), ([2], 0), ([1, 0, 1], 0)]


@pytest.mark.parametrize("name", ["split_with_sizes", "unsafe_split_with_sizes"])
@pytest.mark.parametrize("sizes, dim", SIZES)
def test_pieces_of_given_sizes_agree_with_numpy(name, sizes, dim):
    a = np.arange(6.0).reshape(2, 3)
    expected = np.split(a, np.cumsum(sizes)[:-1], dim)
    for x in (facula.tensor(a), facula.tensor(a.T.copy()).T):
        for pieces in (getattr(facula, name)(x, sizes, dim), getattr(x, name)(sizes, dim)):
            assert [p.tolist() for p in pieces] == [e.tolist() for e in expected]
            assert pieces[0].data_ptr() in (0, x.data_ptr())
    with pytest.raises(RuntimeError, match=f"{name}: expected sizes that add up to"):
        getattr(facula, name)(facula.tensor(a), [1, 1, 7], dim)


@pytest.mark.parametrize("chunks, dim, n_pieces", [(2, 0, 2), (2, 1, 2), (5, 1, 3), (1, -1, 1)])
def test_unsafe_chunk_cuts_where_chunk_does(chunks, dim, n_pieces):
    x = facula.arange(6.0).reshape(2, 3)
    for pieces in (facula.unsafe_chunk(x, chunks, dim), x.unsafe_chunk(chunks, dim)):
        assert len(pieces) == n_pieces
        for piece, expected in zip(pieces, x.chunk(chunks, dim), strict=True):
            assert facula.equal(piece, expected)


@pytest.mark.parametrize(
    "cut",
    [
        lambda x: x.unsafe_chunk(2, 1),
        lambda x: x.unsafe_split_with_sizes((1, 2), 1),
        lambda x: x.unsafe_split(2, 1),
        lambda x: x.split_with_sizes((1, 2), 1),
    ],
)
def test_gradients_of_pieces_come_together(cut):
    x = facula.rand(2, 3, dtype=facula.float64, requires_grad=True)

    def f(x):
        first, second = cut(x * 1)
        return first.square().sum() * second.sum()

    assert facula.autograd.gradcheck(f, (x,))
    assert facula.autograd.gradgradcheck(f, (x,))


def test_unsafe_pieces_may_be_written_to_in_place():
    x = facula.ones(4, requires_grad=True)
    for cut in (lambda y: y.unsafe_chunk(2), lambda y: y.unsafe_split_with_sizes([2, 2])):
        first, second = cut(x * 1)
        first.mul_(3)
        (grad,) = facula.autograd.grad((first.sum() + second.sum()), x)
        assert grad.tolist() == [3, 3, 1, 1]
    first, _ = (x * 1).split_with_sizes([2, 2])
    with pytest.raises(RuntimeError, match="mul_"):
        first.mul_(3)
