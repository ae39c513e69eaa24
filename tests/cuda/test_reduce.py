import pytest
from agree import assert_agrees

import facula
from facula import _core

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]
SHAPES = [
    (7,),
    (1000,),
    (3, 5),
    (64, 100),
    (100, 64),
    (4, 1, 33, 6),
    (2, 100000),
    (100000, 2),
    (1,),
    (),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_and_means_agree(shape):
    x = facula.rand(shape, dtype=facula.float64)
    assert_agrees(facula.sum, x)
    for dim in range(len(shape)):
        assert_agrees(lambda t, d=dim: t.sum(d), x)
        assert_agrees(lambda t, d=dim: t.mean(d, keepdim=True), x)
    if len(shape) > 1:
        assert_agrees(lambda t: t.transpose(0, 1).sum(0), x)
        assert_agrees(lambda t: t.sum((0, 1)), x)


@pytest.mark.parametrize("dtype", [facula.bool, facula.uint8, facula.int32, facula.int64], ids=str)
def test_integers_are_summed_as_int64(dtype):
    assert_agrees(facula.sum, (facula.arange(100000) % 3).to(dtype))


@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16, facula.float32], ids=str)
def test_short_floats_are_summed_in_float32(dtype):
    x = facula.rand(300, 200).to(dtype)
    assert_agrees(lambda t: t.mean(1), x)
    assert_agrees(lambda t: t.amax(0), x)


ROWS = [name for name, *_ in _core._reduce_rows()]


@pytest.mark.parametrize("name", [*ROWS, "argmax", "argmin", "prod"])
def test_other_reductions_agree(name):
    x = facula.randn(37, 53, dtype=facula.float64)
    assert_agrees(lambda t: getattr(facula, name)(t, 0), x)
    assert_agrees(lambda t: getattr(facula, name)(t, 1), x)
    assert_agrees(getattr(facula, name), x[:5, :5])


def test_max_and_min_give_values_and_places():
    x = (facula.arange(60) % 7).reshape(6, 10)
    assert_agrees(lambda t: tuple(t.max(1)), x)
    assert_agrees(lambda t: tuple(t.min(0)), x)
    nan = facula.tensor([[1.0, float("nan"), 3.0], [2.0, 5.0, 5.0]])
    assert_agrees(lambda t: tuple(t.max(1)), nan)
    many = facula.arange(5000) % 97  # equal ones, which different threads come to
    assert_agrees(lambda t: (t.argmax(), t.argmin(), *t.reshape(5, 1000).max(1)), many)


def test_norms_agree():
    x = facula.randn(20, 30, dtype=facula.float64)
    for p in (1, 2, 3, float("inf")):
        assert_agrees(lambda t, p=p: t.norm(p), x)


def test_variance_agrees():
    x = facula.randn(50, 40)
    assert_agrees(lambda t: t.var(0), x)
    assert_agrees(lambda t: t.std(), x)
    far = 1000 + facula.randn(3, 4100, dtype=facula.float64)
    assert_agrees(lambda t: (*facula.var_mean(t, 1), t.var()), far)
    assert_agrees(lambda t: t.var(1), far.float())


def test_the_variance_of_large_numbers_agrees():
    for n in (3, 200000):
        assert_agrees(lambda t: t.var(), facula.full((n,), 1e200, dtype=facula.float64))
    assert_agrees(
        lambda t: facula.var_mean(t, 1, correction=0),
        facula.tensor([[1e200, -1e200], [1e-3, 2e-3], [3e150, 5e150]], dtype=facula.float64),
    )


@pytest.mark.parametrize("dtype", [facula.float16, facula.float32, facula.float64], ids=str)
@pytest.mark.parametrize("n", [1, 51, 9000])
def test_the_mean_beside_the_variance_is_infinite_where_an_element_is(n, dtype):
    x = facula.ones(3, n, dtype=dtype)
    x[0, 0], x[1, n // 3], x[2, n - 1] = float("inf"), float("-inf"), float("inf")
    variance, mean = facula.var_mean(x.to("cuda"), 1, correction=0)
    assert mean.tolist() == x.mean(1).tolist()
    assert variance.isnan().all()
    assert facula.var_mean(x[:2].to("cuda"), correction=0)[1].isnan()


def test_a_sum_has_the_same_bits_in_every_run():
    x = facula.randn(1 << 20).to("cuda")
    first = x.sum().item()
    assert all(x.sum().item() == first for _ in range(20))
    columns = x.reshape(4096, 256)
    sums = columns.sum(0)
    assert all(facula.equal(columns.sum(0), sums) for _ in range(20))


PACKED = [facula.uint8, facula.int64, facula.bfloat16, facula.float32, facula.complex64]


@pytest.mark.parametrize("dtype", PACKED, ids=str)
@pytest.mark.parametrize(
    "shape, dims",
    [
        ((64, 96), 0),
        ((64, 96), 1),
        ((3, 5, 64), (0, 1)),
        ((3, 5, 64), (0, 2)),
        ((5000, 16), 0),
        ((4, 16384), 1),
        ((7, 33, 8), 1),
    ],
)
def test_reductions_in_packs_agree(shape, dims, dtype):
    x = (facula.rand(shape) * 4).to(dtype)
    assert_agrees(lambda t: t.sum(dims), x)
    assert_agrees(lambda t: t[..., 8:].sum(dims), x)
    assert_agrees(lambda t: t[..., 1:].sum(dims), x)
    if not dtype.is_complex:
        assert_agrees(lambda t: t.amax(dims), x)
        if isinstance(dims, int):
            assert_agrees(lambda t: t.argmax(dims), x)
    if dtype.is_floating_point:
        assert_agrees(lambda t: t.var(dims), x)
