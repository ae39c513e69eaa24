"""Complex numbers in rows, reductions and casts."""

import pytest
from agree import assert_agrees

import facula

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]
COMPLEX = [facula.complex64, facula.complex128]
UNARY = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"]
UNARY += ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh"]
UNARY += ["atanh", "sigmoid", "sinc", "neg", "sgn", "conj_physical", "abs", "angle", "square"]


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_complex_numbers_agree(name, dtype):
    x = facula.randn(40, 7, dtype=dtype)
    assert_agrees(getattr(facula, name), x)
    assert_agrees(lambda t: getattr(facula, name)(t.t()[1:, ::3]), x)


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_arithmetic_of_complex_numbers_agrees(dtype):
    a, b = facula.randn(5, 33, dtype=dtype), facula.randn(5, 33, dtype=dtype)
    for name in ("add", "sub", "mul", "div", "pow", "eq", "ne"):
        assert_agrees(getattr(facula, name), a, b)
    assert_agrees(lambda s: s * (2 + 1j) + 1, a)
    assert_agrees(lambda s: s / 3 - s.real, a)
    assert_agrees(lambda s, t: facula.where(s.real > 0, s, t), a, b)
    assert_agrees(lambda s, t: facula.addcmul(s, s, t, value=2j), a, b)
    assert_agrees(lambda s, t: facula.lerp(s, t, 0.3), a, b)


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_reductions_of_complex_numbers_agree(dtype):
    x = facula.randn(30, 40, dtype=dtype)
    for dim in (0, 1):
        assert_agrees(lambda t, d=dim: t.sum(d), x)
        assert_agrees(lambda t, d=dim: t.mean(d), x)
        assert_agrees(lambda t, d=dim: (t / 2).prod(d), x[:5, :5])
        assert_agrees(lambda t, d=dim: t.var(d), x)
        for p in (0, 1, 2, 3, float("inf")):
            assert_agrees(lambda t, d=dim, p=p: facula.linalg.vector_norm(t, p, d), x)
    assert_agrees(lambda t: facula.any(t), x * 0)


def test_complex_numbers_are_cast_filled_and_moved():
    x = facula.randn(9, dtype=facula.complex64)
    assert_agrees(lambda t: t.to(facula.complex128), x)
    assert_agrees(lambda t: t.to(facula.bool), x)
    assert_agrees(lambda t: t.real.to(facula.complex64), x)
    full = facula.full((3,), 1 + 2j, device="cuda")
    assert full.tolist() == [1 + 2j] * 3
    assert_agrees(lambda t: facula.complex(t.real, t.imag), x)


def test_gradients_through_complex_numbers_agree():
    x = facula.randn(12, dtype=facula.complex128)

    def gradients(t):
        a = t.clone().requires_grad_()
        y = (a.exp() * a.conj() / (a * a + 2)).abs().sum()
        (g,) = facula.autograd.grad(y, a, create_graph=True)
        return g, *facula.autograd.grad((g * g.conj()).real.sum(), a)

    assert_agrees(gradients, x)


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_products_of_complex_numbers_agree(dtype):
    # Reached over paths of different depth: the factors of a product lie elsewhere on the stack.
    x = facula.randn(3, 4, dtype=dtype)
    assert_agrees(lambda t: t @ t.T, x)
    assert_agrees(lambda t: facula.addmm(t[:, :3], t, t.mH, beta=2j, alpha=1 - 1j), x)
    assert_agrees(facula.corrcoef, x)
    assert_agrees(lambda t: facula.corrcoef(t[0]), x)
    assert_agrees(lambda t: facula.func.vmap(facula.outer)(t, t), x)
