"""The matmul family against NumPy."""

import itertools

import numpy as np
import pytest

import facula
from check_op import FLOATING, INTEGRAL, check_op, check_threads

SHAPES = [
    [(3, 4), (4, 5)],
    [(4,), (4,)],
    [(3, 4), (4,)],
    [(4,), (4, 5)],
    [(2, 3, 4), (2, 4, 5)],
    [(2, 3, 4), (4, 5)],
    [(2, 1, 3, 4), (3, 4, 2)],
    [(0, 4), (4, 5)],
    [(3, 0), (0, 5)],
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_matmul_agrees_with_numpy(shapes, device):
    # Half types are rounded once, at the end: their inputs are small enough for the table.
    check_op(facula.matmul, np.matmul, shapes, device, dtypes=FLOATING, low=-0.5, high=0.5)


@pytest.mark.parametrize(
    "name, shapes",
    [("mm", [(3, 4), (4, 5)]), ("bmm", [(2, 3, 4), (2, 4, 5)]), ("mv", [(3, 4), (4,)])],
)
def test_named_products_agree_with_numpy(name, shapes):
    check_op(getattr(facula, name), np.matmul, shapes, dtypes=["float32", "float64"])


def test_dot_and_outer_agree_with_numpy():
    check_op(facula.dot, np.dot, [(5,), (5,)], dtypes=["float32", "float64"])
    check_op(facula.outer, np.outer, [(5,), (3,)], dtypes=["float32", "float64"])


@pytest.mark.parametrize("beta, alpha", [(1, 1), (0.5, 2), (0, 1)])
def test_addmm_agrees_with_numpy(beta, alpha):
    check_op(
        lambda c, a, b: facula.addmm(c, a, b, beta=beta, alpha=alpha),
        lambda c, a, b: beta * c + alpha * (a @ b),
        [(5,), (3, 4), (4, 5)],
        dtypes=["float32", "float64"],
    )


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("ij->ji", [(3, 4)]),
        ("ii->", [(3, 3)]),
        ("i,j->ij", [(3,), (4,)]),
        ("ij,ij->", [(3, 4), (3, 4)]),
    ],
)
def test_einsum_agrees_with_numpy(equation, shapes):
    check_op(
        lambda *xs: facula.einsum(equation, *xs),
        lambda *xs: np.einsum(equation, *xs),
        shapes,
        dtypes=["float32", "float64"],
    )


@pytest.mark.parametrize("size", [1, 7, 16, 33, 64, 129, 300])
def test_sizes_around_the_tiles_agree_with_numpy(size):
    a, b = np.random.default_rng(0).standard_normal((2, size, size)).astype(np.float32)
    result = (facula.from_numpy(a) @ facula.from_numpy(b)).numpy()
    np.testing.assert_allclose(result, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "m, n, k",
    [
        (5, 97, 513),
        (6, 30, 100),
        (7, 9, 300),
        (8, 100, 1000),
        (9, 49, 700),
        (64, 100, 1000),
        (250, 97, 513),
        (65, 97, 999),
        (17, 1000, 1025),
        (67, 97, 30),
    ],
)
def test_few_rows_times_a_transposed_or_large_matrix_agree_with_numpy(m, n, k, dtype):
    a, b = facula.randn(m, k).to(getattr(facula, dtype)), facula.randn(n, k + 3)[:, :k]
    b, c = b.to(a.dtype), facula.randn(m, n).to(a.dtype)
    exact = a.double().numpy() @ b.double().numpy().T
    tolerance = {"rtol": 0, "atol": k * (1e-6 if dtype == "float32" else 1e-15)}
    for columns in (b.t(), b.t().contiguous(), facula.cat([b.t(), b.t()], 1)[:, :n]):
        np.testing.assert_allclose((a @ columns).numpy(), exact, **tolerance)
        added = facula.addmm(c, a, columns, beta=0.5, alpha=2)
        np.testing.assert_allclose(added.numpy(), 0.5 * c.numpy() + 2 * exact, **tolerance)


# Sizes on both sides of the rules that choose between the ways of a product (m, k, n).
EDGES = [
    (1, 300, 9),
    (9, 300, 1),
    (7, 200, 200),
    (8, 128, 128),
    (50, 51, 51),
    (12, 260, 48),
    (12, 260, 49),
    (100, 640, 33),
    (160, 1024, 100),
    (161, 1025, 100),
    (90, 1100, 90),
    (3, 65535, 2),
    (3, 65536, 2),
    (9, 70000, 10),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("m, k, n", EDGES)
def test_products_of_small_integers_are_exact_whichever_way_they_go(m, k, n, dtype):
    facula.manual_seed(0)
    a, b = facula.randint(-3, 4, (m, k)), facula.randint(-3, 4, (k, n))
    exact = (a @ b).to(getattr(facula, dtype))
    a, b = a.to(exact.dtype), b.to(exact.dtype)
    for left, right in itertools.product((a, a.t().contiguous().t()), (b, b.t().contiguous().t())):
        assert facula.equal(left @ right, exact)
        assert facula.equal(facula.stack([left] * 3) @ right, facula.stack([exact] * 3))


@pytest.mark.parametrize("k", [300, 1000, 1500])
def test_a_row_has_the_same_bits_among_any_number_of_others(k):
    c, x, w = facula.randn(128, 97), facula.randn(128, k), facula.randn(97, k)
    for beta in (0, 1, 0.3):
        rows = facula.addmm(c, x, w.t(), beta=beta)
        for n in (1, 2, 5, 8, 9, 49, 64, 100):
            assert facula.equal(facula.addmm(c[:n], x[:n], w.t(), beta=beta), rows[:n])


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(RuntimeError, match=r"\(2, 3\).*\(4, 5\)"):
        facula.ones(2, 3) @ facula.ones(4, 5)
    with pytest.raises(RuntimeError):
        facula.mm(facula.ones(3), facula.ones(3))
    with pytest.raises(RuntimeError, match="float"):
        facula.ones(2, 3) @ facula.ones(3, 4, dtype=facula.float64)


@pytest.mark.promise("T10")
@pytest.mark.parametrize(
    "shape", [(64, 64, 64), (64, 1000, 300), (513, 300, 700), (1, 4000, 1000), (1000, 4000, 1)]
)
def test_same_bits_for_1_2_and_8_threads(shape):
    n, k, m = shape
    a, b = facula.rand(n, k), facula.rand(k, m)
    check_threads(lambda: a @ b)


def test_addmv_and_addbmm_add_scaled_products():
    check_op(
        lambda x, m, v: facula.addmv(x, m, v, beta=2, alpha=3),
        lambda x, m, v: 2 * x + 3 * m @ v,
        [(2,), (2, 3), (3,)],
        dtypes=["float32", "float64", "complex128"],
    )
    check_op(
        lambda x, a, b: facula.addbmm(x, a, b, beta=2, alpha=3),
        lambda x, a, b: 2 * x + 3 * (a @ b).sum(0),
        [(2, 2), (3, 2, 4), (3, 4, 2)],
        dtypes=["float32", "float64", "complex128"],
    )


def test_beta_zero_ignores_even_nan():
    nan = facula.full((2,), float("nan"))
    assert facula.addmv(nan, facula.eye(2), facula.ones(2), beta=0).tolist() == [1, 1]


def test_products_of_bools_are_refused_unless_there_is_nothing_to_multiply():
    none = facula.ones(2, 0, dtype=facula.bool)
    assert facula.mm(none, none.t()).tolist() == [[False, False], [False, False]]
    with pytest.raises(NotImplementedError, match="mm: not defined for bool"):
        facula.mm(none.new_ones(2, 1), none.new_ones(1, 2))
    with pytest.raises(RuntimeError, match=r"addmv: input \(3,\) does not broadcast"):
        facula.addmv(facula.ones(3), facula.ones(2, 3), facula.ones(3))


@pytest.mark.parametrize("dtype", [*INTEGRAL, "float16", "bfloat16"])
@pytest.mark.parametrize("k", [1, 7, 64, 100])
def test_products_with_a_vector_in_any_layout(dtype, k):
    dtype = getattr(facula, dtype)
    a = facula.arange(6 * k).remainder(4).view(6, k)
    x = facula.arange(k).remainder(3)
    expected = facula.from_numpy(a.numpy() @ x.numpy()).to(dtype)
    a, x = a.to(dtype), x.to(dtype)
    spaced = facula.stack([x, x], 1)[:, 0]
    for matrix in (a, a.t().contiguous().t(), facula.stack([a, a], 2)[:, :, 0]):
        for vector in (x, spaced):
            assert facula.equal(facula.mv(matrix, vector), expected)
            assert facula.equal(facula.dot(matrix[2], vector), expected[2])
            assert facula.equal(facula.addmv(expected, matrix, vector, beta=2), expected * 3)


@pytest.mark.parametrize("dtype", [facula.float32, facula.float64])
@pytest.mark.parametrize("k", [255, 256, 16384, 16390, 70001])
@pytest.mark.parametrize("step", [2, 3])
def test_a_vector_with_gaps_gives_the_bits_of_one_without(dtype, k, step):
    facula.manual_seed(0)
    a, x = facula.randn(300, k, dtype=dtype), facula.randn((k - 1) * step + 1, dtype=dtype)[::step]
    dense = x.contiguous()
    for rows in (1, 3, 300):
        assert facula.equal(facula.mv(a[:rows], x), facula.mv(a[:rows], dense))
    assert facula.equal(facula.dot(x, x), facula.dot(dense, dense))


def test_integer_products_wrap_around():
    x = facula.full((300,), 2**31 - 1, dtype=facula.int32)
    assert facula.dot(x, x).item() == 300
    assert facula.mv(x.view(3, 100), x[:100]).tolist() == [100] * 3
    assert facula.full((3,), 2**62).sum().item() == 3 * 2**62 - 2**64


# Each with the shapes of the sum and of both factors, and the product that is added.
SUMS_OF_PRODUCTS = {
    "addmm": ([(2, 4), (2, 3), (3, 4)], np.matmul),
    "addmv": ([(2,), (2, 3), (3,)], np.matmul),
    "addr": ([(2, 3), (2,), (3,)], np.outer),
    "baddbmm": ([(5, 2, 4), (5, 2, 3), (5, 3, 4)], np.matmul),
    "addbmm": ([(2, 4), (5, 2, 3), (5, 3, 4)], lambda a, b: np.matmul(a, b).sum(0)),
}


@pytest.mark.promise("T5")
@pytest.mark.parametrize("name", SUMS_OF_PRODUCTS)
def test_a_sum_of_products_in_place_agrees_with_numpy(name):
    shapes, product = SUMS_OF_PRODUCTS[name]
    check_op(
        lambda x, a, b: getattr(x.clone(), name + "_")(a, b, beta=0.5, alpha=3),
        lambda x, a, b: 0.5 * x + 3 * product(a, b),
        shapes,
        dtypes=["float32", "float64"],
    )


@pytest.mark.promise("T5")
@pytest.mark.parametrize("name", SUMS_OF_PRODUCTS)
def test_a_sum_of_products_in_place_keeps_the_tensor(name):
    shapes, _ = SUMS_OF_PRODUCTS[name]
    x, a, b = (facula.arange(np.prod(s)).reshape(s).double() for s in shapes)
    x = x.permute(*reversed(range(x.dim()))).contiguous().permute(*reversed(range(x.dim())))
    place, strides = x.data_ptr(), x.stride()
    expected = getattr(facula, name)(x, a, b)
    assert getattr(x, name + "_")(a, b) is x
    assert (x.data_ptr(), x.stride()) == (place, strides)
    assert facula.equal(x, expected)
    with pytest.raises(RuntimeError):
        getattr(facula.ones(7, 7, 7, dtype=facula.float64), name + "_")(a, b)


def test_ger_gives_all_products_of_two_vectors():
    check_op(facula.ger, np.outer, [(3,), (4,)])
    check_op(facula.ger, np.outer, [(0,), (4,)], differentiable=False)
    x = facula.tensor([1, 2])
    assert x.ger(facula.tensor([3, 4, 5])).tolist() == [[3, 4, 5], [6, 8, 10]]
    with pytest.raises(RuntimeError, match="vector"):
        facula.ger(facula.ones(2, 2), facula.ones(2))


# bfloat16 may be multiplied in pairs along k, sixteen columns at a time.
@pytest.mark.parametrize("m, n, k", [(1, 16, 1), (3, 50, 7), (9, 47, 33), (17, 100, 128)])
@pytest.mark.parametrize("is_a_turned", [False, True])
@pytest.mark.parametrize("is_b_turned", [False, True])
def test_products_of_bfloat16_are_rounded_once(m, n, k, is_a_turned, is_b_turned):
    facula.manual_seed(0)
    a = (facula.randn(k, m).t() if is_a_turned else facula.randn(m, k)).bfloat16()
    b = (facula.randn(n, k).t() if is_b_turned else facula.randn(k, n)).bfloat16()
    expected = a.double() @ b.double()
    actual = (a @ b).double()
    # Half a unit of the last of 8 bits, and what a sum of floats may be off by.
    bound = expected.abs() * 2**-8 + a.double().abs() @ b.double().abs() * 1e-6
    assert ((actual - expected).abs() <= bound).all()
    assert facula.equal(a[-1:] @ b, (a @ b)[-1:])
    c = facula.randn(m, n).bfloat16()
    with_c = facula.addmm(c, a, b, beta=0.5, alpha=-2.0).double()
    bound = bound * 2 + with_c.abs() * 2**-8
    assert ((with_c - (0.5 * c.double() - 2 * expected)).abs() <= bound).all()


@pytest.mark.parametrize("is_a_turned", [False, True])
@pytest.mark.parametrize("is_b_turned", [False, True])
def test_batches_of_bfloat16_have_the_bits_of_each_product(is_a_turned, is_b_turned):
    facula.manual_seed(0)
    a = (facula.randn(9, 70, 61).mT if is_a_turned else facula.randn(9, 61, 70)).bfloat16()
    b = (facula.randn(9, 65, 70).mT if is_b_turned else facula.randn(9, 70, 65)).bfloat16()
    c = a @ b
    assert all(facula.equal(c[i], a[i] @ b[i]) for i in range(9))
    assert facula.equal(a @ b[:1].expand(9, 70, 65), a @ b[0])
    check_threads(lambda: a @ b)


CONVERTED = ["float16", "bfloat16", "complex64", "complex128"]


def vectors(dtype, *shape):
    rng = np.random.default_rng(len(shape) + shape[-1])
    values = rng.uniform(-1, 1, shape) / 8
    if dtype.startswith("complex"):
        values = values + 1j * rng.uniform(-1, 1, shape) / 8
    return facula.tensor(values).to(getattr(facula, dtype))


def exact(x):
    return x.to(facula.complex128 if x.is_complex() else facula.float64).numpy()


@pytest.mark.parametrize("dtype", CONVERTED)
@pytest.mark.parametrize("n", [0, 1, 7, 15, 16, 17, 63, 65, 129, 1000, 16384, 40001])
def test_dots_of_rows_that_are_not_floats_agree_with_numpy(dtype, n):
    a, b = vectors(dtype, 3, n), vectors(dtype, n)
    expected = exact(a) @ exact(b)
    # One rounding of the result, and those of sums in float32 or float64.
    error = {"float16": 2**-11, "bfloat16": 2**-8, "complex64": 2**-20}.get(dtype, 2**-48)
    strided = facula.stack([b, b], 1)[:, 0]
    for product in (a @ b, a.t().contiguous().t() @ b, a @ strided, facula.stack([a, a])[1] @ b):
        assert product.dtype == a.dtype
        assert np.allclose(exact(product), expected, rtol=error, atol=error * (1 + n**0.5) / 16)
    assert np.allclose(
        exact(facula.dot(a[0], b)), expected[0], rtol=error, atol=error * (1 + n**0.5) / 16
    )


@pytest.mark.parametrize("dtype", CONVERTED)
def test_dots_of_rows_are_scaled_and_added(dtype):
    c, a, b = vectors(dtype, 5), vectors(dtype, 5, 33), vectors(dtype, 33)
    alpha = 2 + 1j if a.is_complex() else 2.0
    y = facula.addmv(c, a, b, beta=3, alpha=alpha)
    expected = 3 * exact(c) + alpha * (exact(a) @ exact(b))
    assert np.allclose(
        exact(y), expected, atol={"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-6)
    )
    unread = facula.addmv(c * float("nan"), a, b, beta=0)
    assert not unread.isnan().any()


@pytest.mark.parametrize("dtype", CONVERTED)
@pytest.mark.parametrize("shape", [(1, 100_000), (700, 300)])
def test_dots_of_rows_have_the_same_bits_with_threads_and_alone(dtype, shape):
    a, b = vectors(dtype, *shape), vectors(dtype, shape[1])
    check_threads(lambda: a @ b)
    assert facula.equal((a @ b)[-1], facula.dot(a[-1], b))
    batch = facula.stack([a, a]) @ b.unsqueeze(1)
    assert facula.equal(batch[1, :, 0], a @ b)
