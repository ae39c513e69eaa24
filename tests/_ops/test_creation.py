"""Tensors from sizes, from numbers, and from the elements of other tensors."""

import itertools

import numpy as np
import pytest

import facula
from check_op import check_op, check_threads
from facula import _warnings

SOME = ["float32", "float64"]


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


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_meshgrid_agrees_with_numpy(indexing):
    arrays = [np.arange(2), np.arange(3), np.arange(4)]
    grids = facula.meshgrid(*map(facula.tensor, arrays), indexing=indexing)
    for grid, expected in zip(grids, np.meshgrid(*arrays, indexing=indexing), strict=True):
        assert grid.tolist() == expected.tolist()


def test_combinations_beyond_all_memory_are_refused_at_once():
    with pytest.raises(RuntimeError, match=r"combinations: those of 64"):
        facula.combinations(facula.ones(17), 64, with_replacement=True)


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


def test_combinations_of_huge_numbers_of_elements_do_not_take_forever():
    huge = 2**63 - 1
    x = facula.tensor([1.0, 2.0], requires_grad=True)
    none = facula.combinations(x, huge)
    assert none.shape == (0, huge) and none.requires_grad
    assert facula.combinations(x[:0], huge, with_replacement=True).shape == (0, huge)
    assert facula.combinations(x[:1], 3, with_replacement=True).tolist() == [[1, 1, 1]]
    for n, r, with_replacement in ((2, huge, True), (1, huge, True), (1000, 500, False)):
        with pytest.raises(RuntimeError, match=r"too many|more bytes"):
            facula.combinations(facula.ones(n), r, with_replacement)


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


def test_triangle_indices_of_int32_of_many_rows_and_of_offsets_outside():
    for shape, offset in (((3, 40000), 0), ((40000, 3), -39990), ((300, 301), 2)):
        found = facula.tril_indices(*shape, offset, dtype=facula.int32)
        assert found.dtype == facula.int32
        np.testing.assert_array_equal(found.numpy(), np.tril_indices(shape[0], offset, shape[1]))
        found = facula.triu_indices(*shape, offset)
        np.testing.assert_array_equal(found.numpy(), np.triu_indices(shape[0], offset, shape[1]))
    for offset in (2**63 - 1, -(2**63)):
        n = 6 if offset > 0 else 0
        assert facula.tril_indices(2, 3, offset).shape == (2, n)
        assert facula.triu_indices(2, 3, offset).shape == (2, 6 - n)
    assert facula.tril_indices(2**40, 3, -(2**40)).shape == (2, 0)
    assert facula.tril_indices(10**12, 0).shape == (2, 0)
    assert facula.tril_indices(0, 2**63 - 1, 2**63 - 1).shape == (2, 0)


def test_triangle_indices_are_the_same_for_any_number_of_threads():
    check_threads(lambda: facula.tril_indices(300, 400, 7), lambda: facula.triu_indices(400, 300))


def test_triangle_indices_refuse_sizes_and_dtypes():
    with pytest.raises(RuntimeError, match=r"tril_indices: expected row and col >= 0, got -1 and"):
        facula.tril_indices(-1, 2)
    with pytest.raises(
        NotImplementedError, match=r"triu_indices: .* int32 or int64, got .*float32"
    ):
        facula.triu_indices(2, 2, dtype=facula.float32)


def test_meshgrid_without_indexing_is_that_of_ij_with_one_warning(monkeypatch):
    monkeypatch.setattr(_warnings, "_told", set())
    x, y = facula.arange(2), facula.arange(3)
    with pytest.warns(UserWarning, match="required to pass the indexing argument") as told:
        for _ in range(2):
            expected = facula.meshgrid(x, y, indexing="ij")
            assert all(map(facula.equal, facula.meshgrid(x, y), expected))
        facula.cartesian_prod(x, y)
    assert len(told) == 1 and told[0].filename == __file__
