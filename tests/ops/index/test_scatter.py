"""Writes to places, and reductions into places, against loops in NumPy."""

import numpy as np
import pytest

import facula
from check_op import check_op

SOME = ["float32", "float64"]
REDUCTIONS = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}


def reduced(a, index, b, reduce, include_self):
    """Each place of ``a`` (1-d) with the elements of ``b`` that its index names."""
    result = a.copy()
    for place in set(index):
        group = [v for i, v in zip(index, b, strict=True) if i == place]
        result[place] = REDUCTIONS[reduce](([a[place]] if include_self else []) + group)
    return result


@pytest.mark.promise("T5")
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize(
    "name, reduce",
    # The sum at an index is index_add.
    [("scatter_reduce", r) for r in REDUCTIONS] + [("index_reduce", r) for r in [*REDUCTIONS][1:]],
)
def test_reductions_into_places_agree_with_numpy(name, reduce, include_self):
    index = [2, 0, 2, 2]
    places = facula.tensor(index)

    def op(x, y):
        return getattr(x, name)(0, places, y, reduce, include_self=include_self)

    def op_in_place(x, y):
        z = x.clone()
        assert getattr(z, name + "_")(0, places, y, reduce, include_self=include_self) is z
        return z

    for f in (op, op_in_place):
        check_op(
            f,
            lambda a, b: reduced(a, index, b, reduce, include_self),
            [(4,), (4,)],
            dtypes=SOME,
            low=0.5,
            differentiable=False,  # among equal elements of a layout no difference is one
        )
    x = facula.rand(4, dtype=facula.float64).add(0.5).requires_grad_()
    y = facula.tensor([0.7, 1.9, 2.8, 3.1], dtype=facula.float64, requires_grad=True)
    assert facula.autograd.gradcheck(op_in_place, (x, y))


@pytest.mark.parametrize("name", ["scatter_reduce_", "index_reduce_"])
def test_reductions_into_places_work_along_any_dimension(name):
    x = facula.zeros(3, 2).t()
    index = facula.tensor([0, 2])
    if name == "scatter_reduce_":
        index = index.expand(2, 2)
    source = facula.tensor([[1.0, 2.0], [3.0, 4.0]])
    getattr(x, name)(1, index, source, "amax")
    assert x.tolist() == [[1, 0, 2], [3, 0, 4]]
    with pytest.raises(RuntimeError, match="as reduce, got 'most'"):
        getattr(x, name)(1, index, source, "most")
    with pytest.raises(
        (IndexError, RuntimeError), match="is out of bounds for a dimension of size 3"
    ):
        getattr(x, name)(1, index + 5, source, "amax")
    assert x.tolist() == [[1, 0, 2], [3, 0, 4]]


@pytest.mark.parametrize("accumulate", [False, True])
def test_put_writes_to_the_flattened_tensor(accumulate):
    index = np.array([[0, 5], [-2, 2]])

    def reference(a, b):
        result = a.copy()
        if accumulate:
            np.add.at(result.reshape(-1), index, b)
        else:
            np.put(result, index, b)
        return result

    places = facula.tensor(index)
    check_op(
        lambda x, y: facula.put(x, places, y, accumulate), reference, [(2, 3), (2, 2)], dtypes=SOME
    )
    x = facula.arange(6).reshape(3, 2).t()
    expected = x.put(places, facula.tensor([[9, 8], [7, 6]]), accumulate)
    assert x.put_(places, facula.tensor([[9, 8], [7, 6]]), accumulate) is x
    assert facula.equal(x, expected)


def test_put_adds_where_indices_repeat():
    x, index = facula.zeros(2, 2), facula.tensor([3, 3])
    assert x.put(index, facula.tensor([1.0, 2.0]), True).tolist() == [[0, 0], [0, 3]]
    assert x.put(facula.tensor([], dtype=facula.int64), facula.empty(0)).tolist() == [[0, 0]] * 2
    with pytest.raises(IndexError, match="put"):
        x.put(index, facula.ones(3))


@pytest.mark.parametrize(
    "index, dim", [([[0], [2]], 1), ([[1, 0, 1]], 0), ([[2, 0, 1], [1, 1, 1]], -1), ([5, 0], None)]
)
def test_take_along_dim_broadcasts_as_numpy_does(index, dim):
    i = facula.tensor(index)
    check_op(
        lambda x: facula.take_along_dim(x, i, dim),
        lambda a: np.take_along_axis(a, np.array(index), dim),
        [(2, 3)],
        dtypes=[*SOME, "float16"],
    )
    x = facula.arange(6).reshape(2, 3)
    out = facula.empty(0, dtype=facula.int64)
    assert facula.take_along_dim(x, i, dim, out=out) is out
    assert facula.equal(out, x.take_along_dim(i, dim))


def test_take_along_dim_refuses_an_index_of_another_rank_or_dtype():
    x = facula.ones(2, 3)
    with pytest.raises(RuntimeError, match="take_along_dim"):
        x.take_along_dim(facula.tensor([0]), 1)
    with pytest.raises((RuntimeError, IndexError), match=r"int64|integer"):
        x.take_along_dim(facula.ones(2, 3), 1)


def test_a_tensor_of_one_element_is_a_value_for_all_places():
    index = facula.tensor([1, 2])
    assert facula.zeros(4).scatter(0, index, value=facula.tensor(2.0)).tolist() == [0, 2, 2, 0]
    assert facula.ones(4).scatter_(0, index, value=facula.tensor(2)).tolist() == [1, 2, 2, 1]


def test_the_gradient_of_a_source_without_dimensions_has_none():
    source = facula.tensor(2.0, requires_grad=True)
    y = facula.zeros(4).scatter(0, facula.tensor([1]), source)
    (y * facula.arange(4.0) * 3).sum().backward()
    assert source.grad.tolist() == 3


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32", "bool"])
@pytest.mark.parametrize("reduce", ["amax", "amin", "prod"])
@pytest.mark.parametrize("layout", ["rows", "every other column", "columns"])
def test_rows_are_reduced_into_rows_of_any_layout(dtype, reduce, layout):
    rng = np.random.default_rng(0)
    index = [2, 0, 2, 3]
    a, b = (rng.integers(0, 4, (n, 1101)) for n in (5, 4))
    expected = a.copy()
    for row, place in enumerate(index):
        join = {"amax": np.maximum, "amin": np.minimum, "prod": np.multiply}[reduce]
        expected[place] = join(expected[place], b[row])
    if dtype == "bool":
        a, b, expected = (n != 0 for n in (a, b, expected))
    x, y = (facula.tensor(n).to(getattr(facula, dtype)) for n in (a, b))
    if layout == "every other column":
        x, y = (t.repeat_interleave(2, 1)[:, ::2] for t in (x, y))
    if layout == "columns":
        x, y = (t.mT.contiguous().mT for t in (x, y))
    found = facula.index_reduce(x, 0, facula.tensor(index), y, reduce)
    if dtype != "bool":
        np.testing.assert_array_equal(found.double().numpy(), expected.astype(np.float64))
    elif reduce != "prod":
        np.testing.assert_array_equal(found.numpy(), expected)


def test_a_value_of_nan_wins_in_rows_of_16_bits():
    x = facula.zeros(2, 600, dtype=facula.float16)
    y = facula.full((1, 600), float("nan"), dtype=facula.float16)
    for reduce in ("amax", "amin"):
        found = facula.index_reduce(x, 0, facula.tensor([1]), y, reduce)
        assert found[1].isnan().all() and (found[0] == 0).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "bool", "complex64"])
def test_one_value_fills_rows_columns_and_rows_with_gaps(dtype):
    for x in (facula.zeros(4, 1001), facula.zeros(4, 2002)[:, ::2], facula.zeros(1001, 4).mT):
        x = x.to(getattr(facula, dtype))
        found = x.index_fill(0, facula.tensor([3, 1]), 1)
        assert found.to(facula.complex64).real.sum(1).tolist() == [0, 1001, 0, 1001]
        assert x.index_fill(1, facula.tensor([0, -1]), 1).to(facula.complex64).real.sum() == 8


def test_elements_that_meet_in_one_place_by_an_expanded_index_are_added_one_after_the_other():
    index = facula.tensor([1]).expand(500)
    found = facula.zeros(3).scatter_add(0, index, facula.ones(500))
    assert found.tolist() == [0, 500, 0]
    half = facula.zeros(3, dtype=facula.float16).scatter_reduce(
        0, index, facula.arange(500).half(), "amax"
    )
    assert half.tolist() == [0, 499, 0]
