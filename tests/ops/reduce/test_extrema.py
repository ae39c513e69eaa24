"""Both extrema at once."""

import numpy as np
import pytest

import facula
from check_op import FLOATING, INTEGRAL, check_op


@pytest.mark.parametrize("part, name", [(0, "min"), (1, "max")])
@pytest.mark.parametrize("dim, keepdim", [(None, False), (0, False), (-1, True)])
def test_aminmax_agrees_with_numpy(dim, keepdim, part, name):
    check_op(
        lambda x: facula.aminmax(x, dim=dim, keepdim=keepdim)[part],
        lambda a: getattr(np, name)(a, axis=dim, keepdims=keepdim),
        [(3, 4)],
        dtypes=(*FLOATING, *INTEGRAL),
        differentiable=False,
    )


def test_aminmax_has_names_an_out_and_gradients():
    x = facula.tensor([[3.0, 1.0], [2.0, 7.0]], dtype=facula.float64, requires_grad=True)
    both = x.aminmax(dim=1)
    assert (both.min.tolist(), both.max.tolist()) == ([1, 2], [3, 7])
    out = facula.empty(0, dtype=facula.float64), facula.empty(0, dtype=facula.float64)
    facula.aminmax(x.detach(), dim=1, out=out)
    assert [t.tolist() for t in out] == [[1, 2], [3, 7]]
    assert facula.autograd.gradcheck(lambda x: tuple(x.aminmax(dim=0)), (x,))
    nan = facula.tensor([1.0, float("nan")]).aminmax()
    assert nan.min.isnan() and nan.max.isnan()
    with pytest.raises(RuntimeError, match="aminmax"):
        facula.empty(0).aminmax()


def test_a_tensor_of_one_integer_is_another_tensor_not_a_dimension():
    x = facula.arange(4)
    assert facula.max(x, facula.tensor(2)).tolist() == [2, 2, 2, 3]
    assert x.min(facula.tensor(2)).tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_extrema_of_integers_of_every_length_agree_with_numpy(dtype):
    """Whole vectors, the last of which overlaps, and what is shorter than one."""
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    a = rng.integers(info.min, info.max, 5000, dtype=dtype, endpoint=True)
    x = facula.from_numpy(a)
    for n in [*range(1, 70), 127, 128, 129, 255, 256, 257, 511, 1000, 4095, 4097, 5000]:
        for start in (0, 1):
            part = a[start:n]
            if part.size:
                ends = x[start:n].amin().item(), x[start:n].amax().item()
                assert ends == (part.min(), part.max()), n


@pytest.mark.parametrize("dtype", INTEGRAL)
def test_the_extremum_of_many_integers_is_found_in_every_piece(dtype):
    x = facula.zeros(100_003, dtype=getattr(facula, dtype))
    for place in (0, 63, 4096, 32_767, 32_768, 98_304, 100_002):
        x[place] = 1
        assert x.amax().item() == 1
        assert (1 - x).amin().item() == 0
        x[place] = 0
    assert x.amax().item() == 0


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64"])
def test_of_equal_extrema_in_rows_of_every_length_the_first_counts(dtype, name):
    rng = np.random.default_rng(0)
    for n in range(1, 40):
        a = rng.integers(0, 5, (50, n)).astype(dtype)
        got = getattr(facula.from_numpy(a), name)(1)
        assert got.tolist() == getattr(a, name)(1).tolist(), n
        if dtype.startswith("float"):
            a[rng.random((50, n)) < 0.1] = np.nan
            got = getattr(facula.from_numpy(a), name)(1)
            assert got.tolist() == getattr(a, name)(1).tolist(), n


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "uint8"])
def test_the_extrema_of_rows_of_any_length_agree_with_numpy(dtype):
    rng = np.random.default_rng(0)
    for n in (1, 7, 8, 15, 16, 17, 63, 64, 65, 130, 3000):
        a = rng.integers(0, 250, (3, n)).astype(dtype)
        x = facula.tensor(a)
        for y, b in ((x, a), (-x - 1, -a - 1)):
            np.testing.assert_array_equal(y.amax(1).numpy(), b.max(1))
            np.testing.assert_array_equal(y.amin(1).numpy(), b.min(1))
            assert (y.max().item(), y.min().item()) == (b.max(), b.min())


@pytest.mark.parametrize("dtype", [facula.float32, facula.float64, facula.float16])
@pytest.mark.parametrize("n", [1, 17, 64, 100, 40000])
def test_nan_is_the_extremum_wherever_it_is(dtype, n):
    for place in {0, n // 2, n - 1}:
        for other in (1.0, float("inf"), -float("inf")):
            x = facula.full((n,), other, dtype=dtype)
            x[place] = float("nan")
            for found in (x.amax(), x.amin(), x.max(), x.min(), *x.aminmax()):
                assert found.isnan().item()
            assert x.argmax().item() == x.argmin().item() == place
