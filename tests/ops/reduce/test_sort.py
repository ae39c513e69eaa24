"""msort, and runs of equal neighbours."""

import itertools

import numpy as np
import pytest

import facula
from check_op import FLOATING, INTEGRAL, check_op


@pytest.mark.parametrize("shape", [(5,), (4, 3), (0, 3), ()])
def test_msort_sorts_along_the_first_dimension(shape):
    def reference(a):
        return np.sort(a, 0) if a.ndim else a

    check_op(facula.msort, reference, [shape], dtypes=(*FLOATING, *INTEGRAL), differentiable=False)
    x = facula.rand(shape, dtype=facula.float64, requires_grad=True)
    assert facula.autograd.gradcheck(lambda x: x.msort().square(), (x,))
    out = facula.empty(0, dtype=facula.float64)
    assert facula.msort(x.detach(), out=out) is out
    assert facula.equal(out, x.msort())


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("values", [[1, 1, 0, 0, 0, 1], [1], [], [0, 0, 0]])
def test_runs_of_equal_neighbours_become_one(values, dtype):
    x = facula.tensor(values).to(getattr(facula, dtype))
    runs = [(key, len(list(run))) for key, run in itertools.groupby(values)]
    inverse = [i for i, (_, n) in enumerate(runs) for _ in range(n)]
    found = facula.unique_consecutive(x, return_inverse=True, return_counts=True)
    expected = [[key for key, _ in runs], inverse, [n for _, n in runs]]
    assert [t.tolist() for t in found] == expected
    assert x.unique_consecutive().tolist() == expected[0]
    assert x.unique_consecutive(return_counts=True)[1].tolist() == expected[2]


def test_runs_of_equal_slices_become_one():
    x = facula.tensor([[1, 1, 2], [3, 3, 3], [1, 1, 2]])
    values, inverse, counts = facula.unique_consecutive(x, True, True, dim=1)
    assert values.tolist() == [[1, 2], [3, 3], [1, 2]]
    assert (inverse.tolist(), counts.tolist()) == ([0, 0, 1], [2, 1])
    assert facula.equal(x.t().unique_consecutive(dim=0), values.t())
    assert x.unique_consecutive().tolist() == [1, 2, 3, 1, 2]
    nan = float("nan")
    assert facula.tensor([nan, nan]).unique_consecutive().shape == (2,)


def test_unique_slices_lie_one_after_the_other_in_memory():
    x = facula.arange(24.0).reshape(2, 3, 4)
    for unique in (facula.unique, facula.unique_consecutive):
        strides = [unique(x, dim=dim).stride() for dim in range(3)]
        assert strides == [(12, 4, 1), (4, 8, 1), (3, 1, 6)]
        assert facula.equal(unique(x, dim=1), x)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 1000])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float32", "float64"])
def test_values_alone_are_those_that_come_with_inverse_and_counts(dtype, n):
    a = np.random.default_rng(0).integers(0, 30, n).astype(dtype)
    x = facula.from_numpy(a)
    for op in (facula.unique, facula.unique_consecutive):
        assert facula.equal(op(x), op(x, return_inverse=True)[0])
        assert facula.equal(op(x[::2]), op(x[::2], return_counts=True)[0])
    assert facula.unique(x).tolist() == np.unique(a).tolist()


def test_of_zeros_the_first_is_kept_and_nan_is_never_equal():
    x = facula.tensor([0.0, -0.0, float("nan"), 0.0, float("nan")])
    values = facula.unique(x)
    assert values.signbit().tolist()[0] is False and values.isnan().tolist() == [False, True, True]
    assert facula.unique(-x)[0].signbit().item() is True


def test_few_values_do_not_hold_the_memory_of_many():
    values = facula.unique(facula.zeros(10000))
    assert values.untyped_storage().nbytes() < 1000


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("n", [32, 34, 35, 66, 67, 500, 2000])
def test_few_of_a_long_row_are_those_that_a_sort_begins_with(dtype, n):
    facula.manual_seed(n)
    x = facula.randint(-50, 50, (6, n)).abs().to(getattr(facula, dtype))
    if x.is_floating_point():
        x = x - 20
        x[1, n // 2] = x[2, n - 1] = float("nan")
        x[3], x[4] = float("nan"), 0 * x[4]
    for rows in (x, x.flip(0).t().contiguous().t()):
        for k in (1, 2, n // 16):
            for largest in (False, True):
                expected = rows.sort(1, descending=largest)
                result = rows.topk(k, largest=largest)
                assert result.indices.equal(expected.indices[:, :k])
                assert result.values.nan_to_num(99).equal(expected.values[:, :k].nan_to_num(99))
