"""The kernels behind indices of sparse tensors, which trust no index."""

import numpy as np
import pytest

import facula
from facula import _core

pytestmark = pytest.mark.promise("T11")


def columns(sizes, n):
    rng = np.random.default_rng(n)
    return np.stack([rng.integers(0, size, n) for size in sizes]).reshape(len(sizes), n)


@pytest.mark.parametrize("sizes", [(7,), (3, 5), (4, 1, 6)])
@pytest.mark.parametrize("n", [0, 1, 1025, 40000])
def test_places_count_row_by_row(sizes, n):
    indices = columns(sizes, n)
    expected = np.ravel_multi_index(indices, sizes)
    for given in (facula.tensor(indices), facula.tensor(indices.T.copy()).t()):
        assert np.array_equal(_core._places(given, (*sizes, 2)).numpy(), expected)


@pytest.mark.parametrize("at", [0, 1500, 39999])
@pytest.mark.parametrize("wrong", [-1, 5, 2**62])
def test_an_index_outside_is_refused(at, wrong):
    indices = facula.tensor(columns((3, 5), 40000))
    indices[1, at] = wrong
    message = (
        f"negative index {wrong} for dim 1" if wrong < 0 else f"size is 5 but found index {wrong}"
    )
    with pytest.raises(RuntimeError, match=message):
        _core._places(indices, (3, 5))
    with pytest.raises(RuntimeError, match=message):
        _core._scatter_places(indices, facula.ones(40000), (3, 5))


def test_an_index_into_nothing_is_refused():
    with pytest.raises(RuntimeError, match="size is 0 but found index 0"):
        _core._places(facula.tensor([[0], [0]]), (0, 3))
    with pytest.raises(RuntimeError, match="size is 0 but found index 0"):
        _core._scatter_places(facula.tensor([[0]]), facula.ones(1, 0), (0, 0))


def test_indices_of_other_forms_are_refused():
    for given in (facula.tensor([0, 1]), facula.tensor([[0]]).int(), facula.zeros(3, 1).long()):
        with pytest.raises(RuntimeError, match="expected int64 indices, a row for each"):
            _core._places(given, (2, 2))
    with pytest.raises(RuntimeError, match="expected a value for each index"):
        _core._scatter_places(facula.tensor([[0, 1]]), facula.ones(3), (2,))
    with pytest.raises(RuntimeError, match="expected a value for each index"):
        _core._scatter_places(facula.tensor([[0, 1]]), facula.ones(2, 3), (2, 4))


@pytest.mark.parametrize("n", [0, 1, 2, 1024, 1025, 3000])
def test_rising_numbers_are_known_wherever_they_stop_to_rise(n):
    numbers = facula.arange(n)
    assert _core._is_rising(numbers)
    assert _core._is_rising(facula.arange(2 * n)[::2])
    for at in {at for at in (1, n // 2, n - 1) if 0 < at < n}:
        wrong = numbers.clone()
        wrong[at] = wrong[at - 1]
        assert not _core._is_rising(wrong)


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
)
@pytest.mark.parametrize("rest", [(), (3,), (2, 2)])
def test_values_of_equal_indices_are_added(dtype, rest):
    sizes, n = (3, 4), 40
    indices = columns(sizes, n)
    values = np.random.default_rng(0).integers(0, 3, (n, *rest))
    expected = np.zeros((*sizes, *rest))
    np.add.at(expected, tuple(indices), values)
    given = facula.tensor(values).to(getattr(facula, dtype))
    y = _core._scatter_places(facula.tensor(indices), given, (*sizes, *rest))
    assert y.dtype == given.dtype
    wanted = facula.tensor(expected).to(given.dtype) if dtype != "bool" else None
    if wanted is None:
        hit = np.zeros((*sizes, *rest), bool)
        np.logical_or.at(hit, tuple(indices), values != 0)
        wanted = facula.tensor(hit)
    assert facula.equal(y, wanted)
