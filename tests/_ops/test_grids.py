"""Grids, combinations and matrices from vectors."""

import itertools

import numpy as np
import pytest

import facula
from check_op import check_op

SOME = ["float32", "float64"]


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_meshgrid_agrees_with_numpy(indexing):
    arrays = [np.arange(2), np.arange(3), np.arange(4)]
    grids = facula.meshgrid(*map(facula.tensor, arrays), indexing=indexing)
    for grid, expected in zip(grids, np.meshgrid(*arrays, indexing=indexing), strict=True):
        assert grid.tolist() == expected.tolist()


def test_combinations_and_products_agree_with_itertools():
    values = [3, 1, 2, 5]
    x = facula.tensor(values)
    for r in (1, 2, 3):
        assert facula.combinations(x, r).tolist() == [*map(list, itertools.combinations(values, r))]
        repeated = itertools.combinations_with_replacement(values, r)
        assert facula.combinations(x, r, True).tolist() == [*map(list, repeated)]
    expected = [list(row) for row in itertools.product(values, values[:2])]
    assert facula.cartesian_prod(x, x[:2]).tolist() == expected
    assert facula.combinations(x, 5).shape == (0, 5)


def test_block_diag_puts_zeros_elsewhere():
    blocks = [facula.ones(1, 2), facula.tensor(3.0), facula.ones(2)]
    assert facula.block_diag(*blocks).tolist() == [
        [1, 1, 0, 0, 0],
        [0, 0, 3, 0, 0],
        [0, 0, 0, 1, 1],
    ]
    assert facula.block_diag().shape == (1, 0)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("increasing", [False, True])
def test_vander_agrees_with_numpy(n, increasing):
    check_op(
        lambda x: facula.vander(x, n, increasing),
        lambda a: np.vander(a, n, increasing),
        [(3,)],
        dtypes=SOME,
        differentiable=n > 1,  # power 0 is constant
    )


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_diagonals_are_put_back_where_they_came_from(offset):
    x = facula.rand(2, 3)
    for dims in ((-2, -1), (0, 1), (2, 0)):
        embedded = facula.diag_embed(x, offset, *dims)
        assert facula.equal(embedded.diagonal(offset, *dims), x)
        assert embedded.count_nonzero().item() == x.numel()
    check_op(
        lambda x: facula.diagflat(x, offset), lambda a: np.diagflat(a, offset), [(3,)], dtypes=SOME
    )


@pytest.mark.parametrize("offset", [-3, -1, 0, 1, 4])
@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (0, 2)])
def test_triangle_indices_agree_with_numpy(shape, offset):
    rows, columns = shape
    lower = facula.tril_indices(rows, columns, offset)
    assert lower.tolist() == [i.tolist() for i in np.tril_indices(rows, offset, columns)]
    upper = facula.triu_indices(rows, columns, offset)
    assert upper.tolist() == [i.tolist() for i in np.triu_indices(rows, offset, columns)]


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
