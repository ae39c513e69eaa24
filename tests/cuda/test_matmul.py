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


def test_integers_are_refused():
    x = facula.ones(2, 2, dtype=facula.int64, device="cuda")
    with pytest.raises(NotImplementedError, match="matmul: not available for int64 on cuda:0"):
        x @ x
