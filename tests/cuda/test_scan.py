"""Running totals and extrema along any dimension."""

import pytest
from agree import assert_agrees

import facula

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]
SHAPES = [(1,), (5,), (1000,), (100000,), (3, 5), (300, 2000), (2000, 300), (4, 1, 33, 6), ()]
FLOATING = [facula.float16, facula.bfloat16, facula.float32, facula.float64]
INTEGERS = [facula.uint8, facula.int8, facula.int16, facula.int32, facula.int64]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_running_sums_agree(shape):
    x = facula.rand(shape, dtype=facula.float64)
    for dim in range(max(1, len(shape))):
        assert_agrees(lambda t, d=dim: t.cumsum(d), x)
        assert_agrees(lambda t, d=dim: (t * 0.01 + 0.995).cumprod(d), x)
        assert_agrees(lambda t, d=dim: t.logcumsumexp(d), x)
        assert_agrees(lambda t, d=dim: tuple(t.cummax(d)), x)
        assert_agrees(lambda t, d=dim: tuple(t.cummin(d)), x)


@pytest.mark.parametrize("dtype", [*FLOATING, *INTEGERS, facula.bool], ids=str)
def test_running_totals_have_the_dtypes_of_the_cpu(dtype):
    x = (facula.arange(60) % 5).reshape(6, 10).to(dtype)
    assert_agrees(lambda t: t.cumsum(1), x)
    assert_agrees(lambda t: t[:, 1:4].cumprod(0), x)
    assert_agrees(lambda t: tuple(t.t().cummax(0)), x)


def test_complex_totals_agree():
    x = facula.randn(7, 50, dtype=facula.complex128)
    assert_agrees(lambda t: t.cumsum(1), x)
    assert_agrees(lambda t: t.cumprod(0), x)


def test_nan_and_infinities_run_on_as_on_the_cpu():
    x = facula.tensor([1.0, 3.0, float("nan"), 2.0, float("inf"), -float("inf"), float("nan")])
    assert_agrees(lambda t: tuple(t.cummax(0)), x)
    assert_agrees(lambda t: tuple(t.cummin(0)), x)
    y = facula.tensor([-float("inf"), 0.0, 1000.0, -1000.0, float("inf"), 1.0])
    assert_agrees(lambda t: t.logcumsumexp(0), y)
    assert_agrees(lambda t: t[:4].logcumsumexp(0), y)


def test_views_run_in_any_layout():
    x = facula.rand(40, 50, 3)
    assert_agrees(lambda t: t.permute(2, 0, 1)[:, ::3].cumsum(1), x)
    assert_agrees(lambda t: t.flip(0).cumsum(0), x)
    assert_agrees(lambda t: t[:1].expand(5, -1, -1).cumsum(0), x)


def test_gradients_of_scans_agree():
    x = facula.randn(5, 40, dtype=facula.float64)

    def gradients(t):
        a = t.clone().requires_grad_()
        y = a.cumsum(1) * a.cumprod(0) + a.logcumsumexp(1) * a.cummax(1).values
        (g,) = facula.autograd.grad((y**2).mean(), a, create_graph=True)
        return g, *facula.autograd.grad((g * g).sum(), a)

    assert_agrees(gradients, x)


def test_a_running_sum_has_the_same_bits_in_every_run():
    x = facula.randn(1 << 20).to("cuda")
    first = x.cumsum(0)
    assert all(facula.equal(x.cumsum(0), first) for _ in range(10))
