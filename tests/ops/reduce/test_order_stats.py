"""Elements picked by their rank."""

import numpy as np
import pytest

import facula


def test_medians_and_ranks():
    x = facula.tensor([[3.0, 1.0, 2.0, 4.0], [0.0, 5.0, 5.0, 5.0]])
    assert x.median().item() == 3
    assert x.median(1).values.tolist() == [2, 5]
    assert x.kthvalue(2, 1).values.tolist() == [2, 5]
    assert facula.mode(facula.tensor([1, 3, 3, 1, 2])).values.item() == 1
    assert facula.nanmedian(facula.tensor([float("nan"), 2.0, 1.0])).item() == 1
    with pytest.raises(RuntimeError, match="kthvalue: expected k from 1 to 4"):
        x.kthvalue(5, 1)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "float16", "float32", "float64"])
def test_places_in_short_lines_are_those_of_the_first_of_equals(dtype):
    rng = np.random.default_rng(0)
    for n in range(1, 40):
        a = rng.integers(0, 2 + n // 2, (7, n)).astype(dtype)
        x = facula.from_numpy(a)
        ordered = np.sort(a, 1)
        for k in {1, (n + 1) // 2, n}:
            wanted = ordered[:, k - 1 : k]
            values, places = x.kthvalue(k, 1)
            np.testing.assert_array_equal(values.numpy(), wanted[:, 0])
            np.testing.assert_array_equal(places.numpy(), (a == wanted).argmax(1))
        middle = x.mT.contiguous().median(0)
        np.testing.assert_array_equal(middle.values.numpy(), ordered[:, (n - 1) // 2])
        if dtype.startswith("float") and n > 2:
            x[:, n // 2] = facula.nan
            assert (x.median(1).indices == n // 2).all()
            rest = np.sort(np.delete(a, n // 2, 1), 1)
            np.testing.assert_array_equal(x.nanmedian(1).values.numpy(), rest[:, (n - 2) // 2])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int64"])
@pytest.mark.parametrize("n", [63, 200, 5000])
def test_ranks_of_long_lines_agree_with_numpy(dtype, n):
    for top in (3, n, 30000):
        a = np.random.default_rng(0).integers(-top, top, n).astype(dtype)
        x = facula.from_numpy(a)
        ordered = np.sort(a)
        for k in (1, n // 3, n):
            value, index = x.kthvalue(k)
            assert value.item() == ordered[k - 1]
            assert index.item() == np.argmax(a == value.item())
        assert x.median().item() == ordered[(n - 1) // 2]
        values, counts = np.unique(a, return_counts=True)
        value, index = x.mode()
        assert value.item() == values[counts.argmax()]
        assert index.item() == np.flatnonzero(a == value.item())[-1]
