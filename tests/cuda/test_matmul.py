import pytest
from agree import assert_agrees

import facula

pytestmark = pytest.mark.cuda
DTYPES = [facula.float16, facula.bfloat16, facula.float32, facula.float64]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("m, k, n", [(1, 1, 1), (3, 5, 7), (64, 100, 10), (128, 64, 32), (1, 9, 4)])
def test_products_agree(m, k, n, dtype):
    a, b = facula.rand(m, k).to(dtype), facula.rand(k, n).to(dtype)
    assert_agrees(facula.mm, a, b)
    assert_agrees(lambda s, t: facula.mm(t.t(), s.t()), a, b)
    assert_agrees(lambda s, t: s[:, 0:] @ t.t().contiguous().t(), a, b)


def test_products_with_a_part_of_a_matrix_agree():
    a, b = facula.rand(20, 30), facula.rand(30, 20)
    assert_agrees(lambda s, t: s[2:9, 1:30] @ t[1:, 3:8], a, b)
    assert_agrees(lambda s, t: s[::2, ::3] @ t[::3, ::2], a, b)


def test_batches_vectors_and_sums_agree():
    a, b, c = facula.rand(6, 3, 4), facula.rand(6, 4, 5), facula.rand(3, 5)
    assert_agrees(facula.bmm, a, b)
    assert_agrees(lambda s, t: s.transpose(1, 2) @ s, a, b)
    assert_agrees(lambda s, t: s @ t[0], a, b)
    assert_agrees(lambda s, t: s[0] @ t[0, :, 0], a, b)
    assert_agrees(lambda x, s, t: facula.addmm(x, s[0], t[0], beta=0.5, alpha=2), c, a, b)
    assert_agrees(lambda x, s, t: facula.addmm(x[0], s[0], t[0]), c, a, b)


def test_products_of_nothing_are_zero():
    assert_agrees(facula.mm, facula.ones(3, 0), facula.ones(0, 2))
    assert_agrees(facula.mm, facula.ones(0, 3), facula.ones(3, 2))
    assert_agrees(
        lambda x, a, b: facula.addmm(x, a, b, beta=3),
        facula.ones(3, 2),
        facula.ones(3, 0),
        facula.ones(0, 2),
    )


def test_float32_is_multiplied_in_full_precision():
    a = facula.rand(256, 256)
    exact = a.double() @ a.double()
    error = ((a.to("cuda") @ a.to("cuda")).cpu().double() - exact).abs().max().item()
    assert error / exact.max().item() < 1e-6


@pytest.mark.parametrize("dtype", [facula.float32, facula.bfloat16, facula.float64], ids=str)
def test_linear_with_a_bias(dtype):
    facula.manual_seed(0)
    x, w, b = facula.randn(5, 7, 16), facula.randn(8, 16), facula.randn(8)

    def run(device, dtype):
        inputs = [t.to(device, dtype).requires_grad_() for t in (x, w, b)]
        y = facula.nn.functional.linear(*inputs)
        return [y, *facula.autograd.grad(y.square().sum(), inputs)]

    rounded = [t.to(dtype).double() for t in (x, w, b)]
    x, w, b = rounded
    for actual, expected in zip(run("cuda", dtype), run("cpu", facula.float64), strict=True):
        error = (actual.detach().cpu().double() - expected.detach()).abs().max().item()
        limit = {facula.float32: 1e-5, facula.bfloat16: 2e-2, facula.float64: 1e-13}[dtype]
        assert error <= limit * expected.abs().max().item()


@pytest.mark.parametrize("dtype", [facula.int64, facula.uint8, facula.complex64, facula.complex128])
def test_products_of_integers_and_of_complex_numbers(dtype):
    facula.manual_seed(1)
    a, b, c = (facula.randint(0, 5, s) for s in ((3, 70, 20), (3, 20, 65), (70, 65)))
    a, b, c = (t.to(dtype) for t in (a, b, c))
    if dtype.is_complex:
        a, b = a * (1 + 2j), b * (2 - 1j)
    assert facula.equal((a.cuda() @ b.cuda()).cpu(), a @ b)
    actual = facula.addmm(c.cuda(), a[0].cuda(), b[0].cuda(), beta=2, alpha=3)
    assert facula.equal(actual.cpu(), facula.addmm(c, a[0], b[0], beta=2, alpha=3))


def test_tf32_is_a_switch():
    assert not facula.backends.cuda.matmul.allow_tf32
    facula.set_float32_matmul_precision("high")
    try:
        assert facula.backends.cuda.matmul.allow_tf32
        x = facula.full((64, 64), 1.0 + 2.0**-20, device="cuda")
        assert (x @ x).sum().item() == pytest.approx(64**3, rel=1e-3)
    finally:
        facula.set_float32_matmul_precision("highest")
