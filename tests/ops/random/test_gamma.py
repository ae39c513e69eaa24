"""Gamma and Dirichlet numbers: their law, and their derivatives by quantiles."""

import numpy as np
import pytest
from scipy import special

import facula

LEVELS = np.array([1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-4])


def slope_of_quantile(quantile, a, h):
    """d/da of a quantile, by differences."""
    return (quantile(a + h) - quantile(a - h)) / (2 * h)


@pytest.mark.parametrize("a", [0.05, 0.3, 1.0, 2.5, 10.0, 100.0, 3000.0])
def test_the_derivative_of_a_gamma_number_is_that_of_its_quantile(a):
    x = special.gammaincinv(a, LEVELS)
    expected = slope_of_quantile(lambda a: special.gammaincinv(a, LEVELS), a, 1e-5 * a)
    ours = facula._standard_gamma_grad(facula.full((9,), a, dtype=facula.float64), facula.tensor(x))
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-5)


def test_the_derivative_of_large_gamma_numbers_is_continuous():
    a = facula.tensor([99_999.0, 100_001.0], dtype=facula.float64)
    for z in (-5.0, -1.0, 0.0, 2.0, 5.0):
        below, above = facula._standard_gamma_grad(a, a + z * a.sqrt()).tolist()
        assert below == pytest.approx(above, rel=1e-6)


@pytest.mark.parametrize("a", [0.05, 0.5, 1.0, 3.0, 40.0])
@pytest.mark.parametrize("b", [0.05, 0.5, 1.0, 3.0, 40.0])
def test_the_derivative_of_a_beta_number_is_that_of_its_quantile(a, b):
    x = special.betaincinv(a, b, LEVELS)
    keep = (x > 1e-12) & (x < 1 - 1e-6)
    levels, x = LEVELS[keep], x[keep]
    expected = slope_of_quantile(lambda a: special.betaincinv(a, b, levels), a, 1e-5 * a) / (1 - x)
    n = len(x)
    ours = facula._dirichlet_grad(
        facula.tensor(x),
        facula.full((n,), a, dtype=facula.float64),
        facula.full((n,), a + b, dtype=facula.float64),
    )
    np.testing.assert_allclose(ours.numpy(), expected, rtol=2e-4)


def test_ends_and_nonsense_have_no_derivative():
    alpha = facula.tensor([1.0, 1.0, -1.0, facula.nan])
    slopes = facula._standard_gamma_grad(alpha, facula.tensor([0.0, facula.inf, 1.0, 1.0]))
    assert slopes[0] == 0 and slopes[1:].isnan().all()
    x = facula.tensor([0.0, 1.0, 1.5, 0.5])
    slopes = facula._dirichlet_grad(x, facula.tensor([1.0, 1, 1, 2]), facula.tensor([2.0, 2, 2, 1]))
    assert slopes[:2].tolist() == [0, 0] and slopes[2:].isnan().all()


def test_a_dirichlet_number_of_one_category_does_not_move():
    alpha = facula.tensor([[2.0], [3.0]], requires_grad=True)
    facula._sample_dirichlet(alpha).sum().backward()
    assert alpha.grad.tolist() == [[0], [0]]
    # The small concentration is lost in the sum of both.
    alpha = facula.tensor([1e8, 1e-3], requires_grad=True)
    facula._sample_dirichlet(alpha)[0].backward()
    assert alpha.grad.isfinite().all()


def test_gamma_numbers_have_the_mean_and_the_variance_of_their_law():
    for alpha in (0.1, 1.0, 7.0):
        x = facula._standard_gamma(facula.full((20_000,), alpha, dtype=facula.float64))
        assert x.min() > 0
        assert abs(x.mean().item() - alpha) < 6 * (alpha / 20_000) ** 0.5
        assert abs(x.var().item() / alpha - 1) < 0.2


def test_dirichlet_numbers_sum_to_one_and_stay_inside():
    alpha = facula.tensor([[1e-4, 1e-4, 1e-4], [1.0, 20.0, 3.0]])
    x = facula._sample_dirichlet(alpha.expand(500, 2, 3))
    facula.testing.assert_close(x.sum(-1), facula.ones(500, 2))
    assert x.min() > 0 and x.max() < 1


@pytest.mark.parametrize("dtype", [facula.float32, facula.float64])
def test_backward_of_samples_uses_the_derivatives(dtype):
    alpha = facula.tensor([[0.5, 2.0, 7.0]], dtype=dtype, requires_grad=True)
    x = facula._standard_gamma(alpha)
    weights = facula.tensor([[1.0, -2.0, 3.0]], dtype=dtype)
    (gradient,) = facula.autograd.grad((x * weights).sum(), alpha)
    facula.testing.assert_close(
        gradient, weights * facula._standard_gamma_grad(alpha.detach(), x.detach())
    )
    y = facula._sample_dirichlet(alpha)
    (gradient,) = facula.autograd.grad((y * weights).sum(), alpha)
    plain, total = alpha.detach(), alpha.detach().sum(-1, keepdim=True)
    centred = weights - (y.detach() * weights).sum(-1, keepdim=True)
    facula.testing.assert_close(
        gradient, facula._dirichlet_grad(y.detach(), plain, total) * centred
    )
    # The sum is 1 whatever the concentrations are.
    (gradient,) = facula.autograd.grad(facula._sample_dirichlet(alpha).sum(), alpha)
    assert gradient.abs().max() < 1e-5


def test_layouts_and_empty_tensors():
    alpha = (facula.arange(6.0) + 0.5).reshape(2, 3)
    facula.manual_seed(3)
    rows = facula._standard_gamma(alpha.t().contiguous())
    facula.manual_seed(3)
    assert facula.equal(facula._standard_gamma(alpha.t()), rows)
    for op in (facula._standard_gamma, facula._sample_dirichlet):
        assert op(facula.zeros(0, 3)).shape == (0, 3)
        assert op(facula.zeros(3, 0)).shape == (3, 0)
    assert facula._standard_gamma(facula.tensor(2.0)).shape == ()
    assert facula._sample_dirichlet(facula.tensor(2.0)).item() == pytest.approx(1)


def test_generators_can_be_given():
    alpha = facula.tensor([0.5, 3.0])
    for op in (facula._standard_gamma, facula._sample_dirichlet):
        a, b = (op(alpha, facula.Generator().manual_seed(4)) for _ in range(2))
        assert facula.equal(a, b)


def test_what_is_refused():
    alpha = facula.tensor([1.0, 2.0], requires_grad=True)
    (gradient,) = facula.autograd.grad(
        facula._standard_gamma(alpha).sum(), alpha, create_graph=True
    )
    with pytest.raises(NotImplementedError, match="the derivative of a sample has no derivative"):
        gradient.sum().backward()
    for dtype in (facula.float16, facula.int64):
        with pytest.raises(NotImplementedError, match="_standard_gamma: expected"):
            facula._standard_gamma(facula.ones(2, dtype=dtype))
    with pytest.raises(RuntimeError, match="one dtype"):
        facula._dirichlet_grad(facula.ones(1), facula.ones(1), facula.ones(1).double())


def test_numbers_of_successes_have_no_derivative():
    prob = facula.tensor([0.5, 0.2], requires_grad=True)
    successes = facula.binomial(facula.tensor([10.0, 20.0]), prob)
    with pytest.raises(
        NotImplementedError, match="binomial: numbers of successes have no derivative"
    ):
        successes.sum().backward()
