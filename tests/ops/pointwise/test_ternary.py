"""Bounds, interpolation and the operations of three tensors."""

import numpy as np
import pytest

import facula
from check_op import check_op

NAN = float("nan")
SHAPES = [(3, 4), (4,), (3, 1)]


def test_addcmul_agrees_with_the_formula():
    check_op(
        lambda x, a, b: facula.addcmul(x, a, b, value=2), lambda x, a, b: x + 2 * a * b, SHAPES
    )


def test_addcdiv_agrees_with_the_formula():
    check_op(
        lambda x, a, b: facula.addcdiv(x, a, b, value=2),
        lambda x, a, b: x + 2 * a / b,
        SHAPES,
        low=0.5,
        high=2,
    )


def test_lerp_agrees_with_the_formula():
    check_op(facula.lerp, lambda a, b, w: a + w * (b - a), SHAPES, low=-2, high=2)
    check_op(lambda a, b: facula.lerp(a, b, 0.3), lambda a, b: a + 0.3 * (b - a), SHAPES[:2])


def test_lerp_reaches_both_ends_exactly():
    a, b = facula.tensor([0.1]), facula.tensor([1e8])
    assert facula.equal(facula.lerp(a, b, 1.0), b)
    assert facula.equal(facula.lerp(a, b, 0.0), a)


def test_clamp_agrees_with_numpy():
    check_op(
        lambda x: facula.clamp(x, -0.5, 0.7),
        lambda a: np.clip(a, -0.5, 0.7),
        [(3, 4)],
        low=-2,
        high=2,
        dtypes=["float32", "float64"],
    )


def test_clamp_takes_one_bound_or_tensors():
    x = facula.tensor([-2.0, 0.0, 2.0])
    assert x.clamp(min=-1).tolist() == [-1, 0, 2]
    assert x.clip(max=1).tolist() == [-2, 0, 1]
    assert x.clamp(facula.tensor([0.0, 1.0, 0.0]), facula.tensor([1.0])).tolist() == [0, 1, 1]


def test_the_upper_bound_wins_and_nan_passes():
    assert facula.clamp(facula.tensor([3.0]), min=5, max=1).tolist() == [1]
    x = facula.tensor([NAN, 1.0])
    assert x.clamp(0, 2).isnan().tolist() == [True, False]
    assert x.clamp(max=NAN).isnan().all()
    assert x.clamp(0, NAN).isnan().all()


def test_clamp_of_integers_with_a_fraction_is_floating():
    assert facula.tensor([0, 3]).clamp(0.5, 2).dtype == facula.float32
    assert facula.tensor([0, 3]).clamp(1, 2).tolist() == [1, 2]


def test_clamp_without_bounds_is_refused():
    with pytest.raises(RuntimeError, match="clamp: expected min or max, got neither"):
        facula.clamp(facula.ones(2))
    with pytest.raises(TypeError, match="clamp: expected min and max to be both"):
        facula.clamp(facula.ones(2), facula.ones(2), 1.0)


@pytest.mark.promise("T5")
@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_sums_of_products_and_quotients_in_place_write_the_same(name):
    a, b = facula.tensor([[1.0], [3.0]]), facula.tensor([2.0, 4.0, 8.0])
    x = facula.ones(3, 2).t()
    expected = getattr(x, name)(a, b, value=0.5)
    assert getattr(x, name + "_")(a, b, value=0.5) is x
    assert facula.equal(x, expected)
    with pytest.raises(RuntimeError, match=f"{name}_: expected a result of the shape"):
        getattr(facula.ones(3), name + "_")(a, b)


def test_addcdiv_in_place_is_differentiated_by_all_three():
    inputs = facula.rand(3, 2, 3, dtype=facula.float64).add(0.5).requires_grad_().unbind()
    f = lambda x, a, b: (x * x).addcdiv_(a, b, value=2)  # noqa: E731
    assert facula.autograd.gradcheck(f, inputs)
    assert facula.autograd.gradgradcheck(f, inputs)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "uint8", "complex64"])
@pytest.mark.parametrize("n", [3, 31, 32, 255, 256, 257, 1000])
def test_numbers_along_lines_count_like_dense_ones(n, dtype):
    rng = np.random.default_rng(n)
    x, row, column = (
        facula.tensor(rng.integers(0, 9, shape)).to(getattr(facula, dtype))
        for shape in ((3, n), (n,), (3, 1))
    )
    dense = facula.addcmul(x, row.expand(3, n).clone(), column.expand(3, n).clone(), value=2)
    assert facula.equal(facula.addcmul(x, row, column, value=2), dense)
    assert facula.equal(facula.addcmul(x, column, row, value=2), dense)
    assert facula.equal(facula.addr(x, column[:, 0], row, alpha=2), dense)


@pytest.mark.parametrize("size", [1, 8, 33, 200])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64", "int64"])
def test_rows_and_columns_give_the_bits_of_their_copies(dtype, size):
    x = (facula.arange(3.0 * size).reshape(3, size) / 7).to(getattr(facula, dtype))
    column, row = x[:, :1], x[1]
    wide = [t.expand(3, size).contiguous() for t in (column, row)]
    assert facula.equal(facula.addcmul(x, column, row), facula.addcmul(x, *wide))
    assert facula.equal(facula.addcmul(x, row, column), facula.addcmul(x, *wide[::-1]))
    assert facula.equal(facula.clamp(x, column, row), facula.clamp(x, *wide))
    if x.is_floating_point():
        assert facula.equal(facula.lerp(x, row, column), facula.lerp(x, *wide[::-1]))
        product = facula.addr(x, x[:, 0], row, alpha=0.3)
        assert facula.equal(product, facula.addcmul(x, *wide, value=0.3))
