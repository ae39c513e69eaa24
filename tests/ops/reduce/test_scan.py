"""Running totals against NumPy."""

import numpy as np
import pytest

import facula
from check_op import check_op, check_threads


@pytest.mark.parametrize("shape, dim", [((3,), 0), ((2, 3, 4), 1), ((2, 3), -1), ((0, 3), 0)])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_sums_and_products_agree_with_numpy(name, shape, dim):
    check_op(
        lambda x: getattr(facula, name)(x, dim), lambda a: getattr(np, name)(a, axis=dim), [shape]
    )


@pytest.mark.parametrize("zeros", [[1], [0, 2], [3], [0, 1, 2, 3]])
def test_gradients_of_cumprod_and_prod_mind_zeros(zeros):
    values = np.array([2.0, -1.5, 0.5, 3.0])
    values[zeros] = 0
    for op in (lambda x: facula.cumprod(x, 0), facula.prod, lambda x: facula.prod(x, 0)):
        x = facula.tensor(values.tolist(), dtype=facula.float64, requires_grad=True)
        assert facula.autograd.gradcheck(op, (x,))
        assert facula.autograd.gradgradcheck(op, (x,))


def test_integers_are_added_up_as_int64():
    x = facula.full((300,), 100, dtype=facula.int8)
    assert x.cumsum(0).dtype == facula.int64
    assert x.cumsum(0)[-1].item() == 30_000
    assert x.cumsum(0, dtype=facula.int8).dtype == facula.int8


def test_of_equal_elements_the_last_counts_in_cummax():
    values, indices = facula.cummax(facula.tensor([1.0, 3.0, 3.0, 2.0]), 0)
    assert values.tolist() == [1, 3, 3, 3]
    assert indices.tolist() == [0, 1, 2, 2]
    assert facula.cummin(facula.tensor([2, 1, 1, 3]), 0).indices.tolist() == [0, 1, 2, 2]


def test_nan_stays_in_a_running_maximum():
    values = facula.cummax(facula.tensor([1.0, float("nan"), 3.0]), 0).values
    assert values.isnan().tolist() == [False, True, True]


def test_gradient_of_cummax_goes_to_the_elements_found():
    x = facula.tensor([1.0, 3.0, 2.0], requires_grad=True)
    facula.cummax(x, 0).values.sum().backward()
    assert x.grad.tolist() == [1, 2, 0]


def test_in_place_forms_write_to_the_tensor():
    x = facula.tensor([1.0, 2.0, 3.0])
    assert x.cumsum_(0) is x
    assert x.cumprod_(0).tolist() == [1, 3, 18]


def test_a_scan_of_a_0d_tensor_is_the_tensor():
    assert facula.tensor(2.0).cumsum(0).item() == 2
    assert facula.cummax(facula.tensor(2.0), -1).indices.item() == 0


def test_a_dim_that_is_not_there_is_an_index_error():
    with pytest.raises(IndexError, match=r"cumsum: expected dim in \[-2, 1\], got 2"):
        facula.ones(2, 3).cumsum(2)


@pytest.mark.promise("T10")
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_same_bits_for_1_2_and_8_threads(name):
    x = facula.rand(257, 1031)
    op = getattr(facula, name)
    check_threads(lambda: op(x, 0), lambda: op(x, 1), lambda: op(x.flatten(), 0))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"])
@pytest.mark.parametrize("shape", [(37, 3), (19, 100), (3, 5, 23)])
def test_a_line_has_the_same_bits_alone_and_among_others(name, shape):
    def scan(x, dim):
        result = getattr(facula, name)(x, dim)
        return facula.stack(result) if name in ("cummax", "cummin") else result

    x = facula.randint(-5, 5, shape).float()
    x[0, 0], x[1, 1], x[2, 2] = float("nan"), float("inf"), float("-inf")
    for moved in (x, x.transpose(0, -1).contiguous().transpose(0, -1)):
        for dim in range(x.dim()):
            lines = moved.movedim(dim, -1).reshape(-1, shape[dim])
            alone = facula.stack([scan(line.clone(), 0) for line in lines], -2)
            among = scan(moved, dim).movedim(dim - x.dim(), -1)
            assert facula.equal(among.reshape(alone.shape).nan_to_num(99), alone.nan_to_num(99))


def test_logcumsumexp_of_infinities():
    inf, nan = float("inf"), float("nan")
    for values, expected in [
        ([-inf, -inf, 1.0, 1000.0], [-inf, -inf, 1.0, 1000.0]),
        ([1.0, inf, 2.0, -inf, nan], [1.0, inf, inf, inf, nan]),
        ([-1e300, 5.0] * 50, [-1e300] + [5 + np.log((i + 1) // 2) for i in range(1, 100)]),
    ]:
        y = facula.logcumsumexp(facula.tensor(values, dtype=facula.float64), 0)
        assert y.tolist() == pytest.approx(expected, nan_ok=True)


def test_logcumsumexp_differentiates_twice():
    x = facula.tensor([0.3, 0.5, -1.0, 2.0], dtype=facula.float64, requires_grad=True)
    assert facula.autograd.gradcheck(lambda t: facula.logcumsumexp(t, 0), (x,))
    assert facula.autograd.gradgradcheck(lambda t: facula.logcumsumexp(t, 0), (x,))


def test_logcumsumexp_of_nothing_but_minus_infinity_is_that():
    assert facula.logcumsumexp(facula.full((2,), -float("inf")), 0).tolist() == [-float("inf")] * 2


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
@pytest.mark.parametrize("shape", [(1, 1000), (5, 64), (7, 65), (130, 3)])
def test_running_totals_and_extrema_of_integers_agree_with_numpy(dtype, shape):
    a = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    for x, b in ((facula.tensor(a), a), (facula.tensor(a).mT.contiguous().mT, a)):
        for dim in (0, 1):
            totals = np.cumsum(b.astype(np.int64), dim)
            np.testing.assert_array_equal(x.cumsum(dim).numpy(), totals)
            highest = np.maximum.accumulate(b, dim)
            found = x.cummax(dim)
            np.testing.assert_array_equal(found.values.numpy(), highest)
            np.testing.assert_array_equal(
                np.take_along_axis(b, found.indices.numpy(), dim), highest
            )


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [1, 7, 16, 17, 40, 3000])
def test_sums_and_products_of_complex_lines_agree_with_numpy(dtype, n):
    rng = np.random.default_rng(0)
    z = np.exp(1j * rng.standard_normal((3, n))).astype(dtype)
    eps = np.finfo(dtype).eps
    for x in (facula.tensor(z), facula.tensor(z.T.copy()).T, facula.tensor(z.repeat(2, 1))[:, ::2]):
        sums = x.cumsum(1)
        np.testing.assert_allclose(sums.numpy(), z.cumsum(1), rtol=0, atol=8 * n * eps)
        for row, line in zip(x, sums, strict=True):
            assert facula.equal(row.cumsum(0), line)
            assert facula.equal(row.contiguous().prod(), row.clone().prod(0))
        np.testing.assert_allclose(x.prod(1).numpy(), z.prod(1), rtol=(n + 4) * eps)
        np.testing.assert_allclose(x.prod().numpy(), z.prod(), rtol=(3 * n + 4) * eps)
