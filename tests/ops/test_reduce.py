"""Reductions against NumPy."""

import numpy as np
import pytest

import facula
from check_op import check_op, check_threads

DIMS = [None, 0, 1, -1, (0, 2), (0, 1, 2)]


def logsumexp(a, axis, keepdims):
    return np.log(np.sum(np.exp(a), axis=axis, keepdims=keepdims))


SMOOTH = [
    ("sum", np.sum),
    ("mean", np.mean),
    ("amax", np.max),
    ("amin", np.min),
    ("logsumexp", logsumexp),
]


def all_dims(dim):
    return (0, 1, 2) if dim is None else dim


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name, reference", SMOOTH, ids=[row[0] for row in SMOOTH])
def test_value_and_gradients_agree_with_numpy(name, reference, dim, keepdim, device):
    if device == "cuda" and name != "sum":
        pytest.skip("on CUDA only sum is built so far")
    dim = all_dims(dim)
    # Ties share their gradient, which a difference cannot see: the expanded layout would have them.
    has_ties = name in ("amax", "amin")
    check_op(
        lambda x: getattr(facula, name)(x, dim, keepdim=keepdim),
        lambda a: reference(a, axis=dim, keepdims=keepdim),
        [(2, 3, 4)],
        device,
        differentiable=not has_ties,
    )


@pytest.mark.parametrize("correction", [0, 1])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", ["var", "std"])
def test_var_and_std_agree_with_numpy(name, dim, correction):
    dim = all_dims(dim)
    check_op(
        lambda x: getattr(facula, name)(x, dim, correction=correction),
        lambda a: getattr(np, name)(a, axis=dim, ddof=correction),
        [(2, 3, 4)],
        dtypes=["float32", "float64"],
        differentiable=name == "var",
    )


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "prod"])
def test_scans_and_products_agree_with_numpy(name, dim):
    check_op(
        lambda x: getattr(facula, name)(x, dim),
        lambda a: getattr(np, name)(a, axis=dim),
        [(2, 3, 4)],
        dtypes=["float32", "float64"],
    )


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["max", "min"])
def test_max_and_min_give_values_and_the_first_index(name, dim):
    a = np.random.default_rng(0).integers(0, 3, (4, 5, 6)).astype(np.float32)
    values, indices = getattr(facula.from_numpy(a), name)(dim)
    np.testing.assert_array_equal(values.numpy(), getattr(np, name)(a, axis=dim))
    np.testing.assert_array_equal(
        np.take_along_axis(a, np.expand_dims(indices.numpy(), dim), dim).squeeze(dim),
        values.numpy(),
    )


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dim", [None, 0, 1, -1])
def test_argmax_and_argmin_agree_with_numpy(name, dim):
    a = np.random.default_rng(0).permutation(24).reshape(2, 3, 4).astype(np.float32)
    result = getattr(facula.from_numpy(a), name)(dim)
    np.testing.assert_array_equal(result.numpy(), getattr(np, name)(a, axis=dim))


@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("name", ["any", "all"])
def test_any_and_all_agree_with_numpy(name, dim):
    a = np.random.default_rng(0).integers(0, 2, (3, 4)).astype(bool)
    x = facula.from_numpy(a)
    result = getattr(x, name)() if dim is None else getattr(x, name)(dim)
    np.testing.assert_array_equal(result.numpy(), getattr(np, name)(a, axis=dim))


def test_nan_wins_max_and_min():
    x = facula.tensor([1.0, float("nan"), 3.0])
    assert x.max().isnan()
    assert x.min().isnan()
    assert x.max(0).indices.item() == 1


def test_reductions_of_nothing():
    x = facula.ones(0, 3)
    assert x.sum().item() == 0
    assert x.sum(0).tolist() == [0, 0, 0]
    assert x.prod().item() == 1
    assert x.mean().isnan()
    assert x.all().item() and not x.any().item()
    with pytest.raises((RuntimeError, IndexError)):
        x.max()
    with pytest.raises((RuntimeError, IndexError)):
        x.argmax()


def test_integer_sums_are_int64_and_do_not_overflow():
    x = facula.full((1000,), 127, dtype=facula.int8)
    assert x.sum().dtype == facula.int64
    assert x.sum().item() == 127_000


def test_a_dim_that_is_not_there_is_an_index_error():
    with pytest.raises(IndexError, match=r"sum: .*2"):
        facula.ones(2, 3).sum(2)


@pytest.mark.promise("T10")
@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "var", "logsumexp", "amax", "cumsum", "softmax", "norm"]
)
def test_same_bits_for_1_2_and_8_threads(name):
    x = facula.rand(257, 4099)
    op = getattr(facula, name)
    check_threads(lambda: op(x, dim=0), lambda: op(x, dim=1), lambda: op(x.flatten(), dim=0))
