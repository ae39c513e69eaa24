import pytest
from agree import assert_agrees

import facula

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]
DTYPES = [facula.float16, facula.bfloat16, facula.float32, facula.float64]


def assert_rounded(actual, expected):
    assert actual.dtype == facula.bfloat16
    facula.testing.assert_close(actual.float(), expected, rtol=2e-2, atol=0.2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("m, k, n", [(1, 1, 1), (3, 5, 7), (64, 100, 10), (128, 64, 32), (1, 9, 4)])
def test_products_agree(m, k, n, dtype):
    a, b = facula.rand(m, k).to(dtype), facula.rand(k, n).to(dtype)
    assert_agrees(facula.mm, a, b)
    assert_agrees(lambda s, t: facula.mm(t.t(), s.t()), a, b)
    assert_agrees(lambda s, t: s[:, 0:] @ t.t().contiguous().t(), a, b)


@pytest.mark.parametrize("transposes", ["", "a", "b", "ab"])
@pytest.mark.parametrize("m, k, n", [(257, 259, 261), (300, 264, 257), (264, 300, 256), (8, 9, 7)])
def test_16_bit_products_of_odd_sizes_agree(m, k, n, transposes):
    a, b = facula.randn(m, k).bfloat16().cuda(), facula.randn(k, n).bfloat16().cuda()
    expected = a.float() @ b.float()
    a = a.t().contiguous().t() if "a" in transposes else a
    b = b.t().contiguous().t() if "b" in transposes else b
    assert_rounded(a @ b, expected)
    assert_rounded(a[:, 3:] @ b[3:], a[:, 3:].float() @ b[3:].float())
    c, bias = facula.randn(m, n).bfloat16().cuda(), facula.randn(n).bfloat16().cuda()
    sums = facula.addmm(c, a, b, beta=0.5)
    assert_rounded(sums, expected + 0.5 * c.float())
    assert_rounded(facula.nn.functional.linear(a, b.t(), bias), expected + bias.float())
    out = facula.full((m + 2, n + 2), 7.0, dtype=facula.bfloat16, device="cuda")
    facula.mm(a, b, out=out[1:-1, 1:-1])
    assert_rounded(out[1:-1, 1:-1], expected)
    out[1:-1, 1:-1] = 7
    assert (out == 7).all()


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


@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("m, n, k", [(259, 264, 256), (256, 264, 261), (257, 259, 263)])
def test_rows_that_begin_evenly_and_end_oddly(m, n, k, trans_a, trans_b):
    facula.manual_seed(0)

    def make(rows, columns):
        # In memory for a few columns more, whose numbers must not count.
        whole = facula.randn(rows, -(-columns // 8) * 8)
        whole[:, columns:] = float("nan")
        return whole.bfloat16()[:, :columns]

    def moved(x):
        there = facula.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="cuda")
        return there.fill_(float("nan")).copy_(x)

    a = make(k, m).t() if trans_a else make(m, k)
    b = make(n, k).t() if trans_b else make(k, n)
    bias = facula.randn(n).bfloat16()
    expected = a.double() @ b.double()
    actual = moved(a) @ moved(b)
    limit = 2e-2 * expected.abs().max().item()
    assert (actual.cpu().double() - expected).abs().max().item() <= limit
    added = facula.addmm(bias.cuda(), moved(a), moved(b))
    assert (added.cpu().double() - expected - bias.double()).abs().max().item() <= limit


def test_the_gradient_of_many_classes_meets_the_layer_that_made_them():
    facula.manual_seed(0)
    x, w, target = facula.randn(2, 150, 264), facula.randn(301, 264) * 0.1, facula.arange(300) % 301
    target[7] = -100

    def run(device, dtype):
        inputs = [t.to(device, dtype).requires_grad_() for t in (x, w)]
        logits = facula.nn.functional.linear(*inputs).flatten(0, 1)
        loss = facula.nn.functional.cross_entropy(logits, target.to(device))
        return [loss, *facula.autograd.grad(loss, inputs)]

    x, w = x.bfloat16().double(), w.bfloat16().double()
    results = run("cuda", facula.bfloat16), run("cpu", facula.float64)
    for actual, expected in zip(*results, strict=True):
        error = (actual.detach().cpu().double() - expected.detach()).abs().max().item()
        assert error <= 2e-2 * expected.abs().max().item()


def test_the_gradient_of_logits_that_are_a_leaf_is_contiguous():
    logits = facula.randn(300, 301, device="cuda").bfloat16().requires_grad_()
    facula.nn.functional.cross_entropy(logits, facula.arange(300, device="cuda")).backward()
    assert logits.grad.is_contiguous()
