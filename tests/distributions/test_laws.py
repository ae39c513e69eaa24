"""Densities, distribution functions, moments and entropies: against SciPy, or known facts."""

import math

import numpy as np
import pytest
from scipy import stats

import facula
from facula import distributions as D


def x(values):
    return facula.tensor(values, dtype=facula.float64)


# Ours, and the same law of scipy.stats.
CONTINUOUS = {
    "Beta": (D.Beta(x(2.0), x(3.5)), stats.beta(2.0, 3.5)),
    "Cauchy": (D.Cauchy(x(1.0), x(0.5)), stats.cauchy(1.0, 0.5)),
    "Chi2": (D.Chi2(x(3.0)), stats.chi2(3.0)),
    "Exponential": (D.Exponential(x(2.5)), stats.expon(scale=1 / 2.5)),
    "FisherSnedecor": (D.FisherSnedecor(x(5.0), x(7.0)), stats.f(5.0, 7.0)),
    "Gamma": (D.Gamma(x(0.7), x(2.0)), stats.gamma(0.7, scale=0.5)),
    "GeneralizedPareto": (
        D.GeneralizedPareto(x(1.0), x(2.0), x(0.2)),
        stats.genpareto(0.2, loc=1.0, scale=2.0),
    ),
    "GeneralizedPareto with an end": (
        D.GeneralizedPareto(x(1.0), x(2.0), x(-0.3)),
        stats.genpareto(-0.3, loc=1.0, scale=2.0),
    ),
    "GeneralizedPareto, exponential": (
        D.GeneralizedPareto(x(1.0), x(2.0), x(0.0)),
        stats.expon(loc=1.0, scale=2.0),
    ),
    "Gumbel": (D.Gumbel(x(0.5), x(2.0)), stats.gumbel_r(0.5, 2.0)),
    "HalfCauchy": (D.HalfCauchy(x(2.0)), stats.halfcauchy(scale=2.0)),
    "HalfNormal": (D.HalfNormal(x(2.0)), stats.halfnorm(scale=2.0)),
    "InverseGamma": (D.InverseGamma(x(3.0), x(2.0)), stats.invgamma(3.0, scale=2.0)),
    "Laplace": (D.Laplace(x(0.5), x(2.0)), stats.laplace(0.5, 2.0)),
    "LogNormal": (D.LogNormal(x(0.3), x(0.8)), stats.lognorm(0.8, scale=math.exp(0.3))),
    "Normal": (D.Normal(x(0.3), x(0.8)), stats.norm(0.3, 0.8)),
    "Pareto": (D.Pareto(x(2.0), x(3.0)), stats.pareto(3.0, scale=2.0)),
    "StudentT": (D.StudentT(x(5.0), x(0.3), x(2.0)), stats.t(5.0, 0.3, 2.0)),
    "Uniform": (D.Uniform(x(-1.0), x(2.0)), stats.uniform(-1.0, 3.0)),
    "VonMises": (D.VonMises(x(0.0), x(2.0)), stats.vonmises(2.0)),
    "Weibull": (D.Weibull(x(2.0), x(1.5)), stats.weibull_min(1.5, scale=2.0)),
}
DISCRETE = {
    "Bernoulli": (D.Bernoulli(x(0.3)), stats.bernoulli(0.3)),
    "Binomial": (D.Binomial(7, x(0.3)), stats.binom(7, 0.3)),
    "Geometric": (D.Geometric(x(0.3)), stats.geom(0.3, loc=-1)),
    "NegativeBinomial": (D.NegativeBinomial(x(2.5), x(0.3)), stats.nbinom(2.5, 0.7)),
    "Poisson": (D.Poisson(x(2.5)), stats.poisson(2.5)),
}
LAWS = {**CONTINUOUS, **DISCRETE}
# Abramowitz and Stegun's Bessel functions have seven digits.
LOOSE = {"VonMises": 1e-6}


def values_of(name):
    law = LAWS[name][1]
    levels = np.array([0.02, 0.3, 0.5, 0.8, 0.97])
    return np.unique(law.ppf(levels))


@pytest.mark.parametrize("name", LAWS)
def test_log_prob_is_the_logarithm_of_the_density(name):
    ours, law = LAWS[name]
    values = values_of(name)
    expected = law.logpmf(values) if name in DISCRETE else law.logpdf(values)
    np.testing.assert_allclose(ours.log_prob(x(values)), expected, rtol=LOOSE.get(name, 1e-9))


def having(*methods):
    return [
        name
        for name, (ours, _) in LAWS.items()
        if all(getattr(type(ours), m) is not getattr(D.Distribution, m) for m in methods)
        and not (name == "InverseGamma" and "icdf" in methods)  # as its base, Gamma
    ]


@pytest.mark.parametrize("name", having("cdf"))
def test_cdf_is_the_distribution_function(name):
    ours, law = LAWS[name]
    values = values_of(name)
    np.testing.assert_allclose(ours.cdf(x(values)), law.cdf(values), rtol=1e-7)


@pytest.mark.parametrize("name", having("cdf", "icdf"))
def test_icdf_is_the_inverse_of_cdf(name):
    ours, law = LAWS[name]
    levels = np.array([0.02, 0.3, 0.5, 0.8, 0.97])
    np.testing.assert_allclose(ours.icdf(x(levels)), law.ppf(levels), rtol=1e-7)


@pytest.mark.parametrize("name", sorted(set(LAWS) - {"Cauchy", "HalfCauchy", "VonMises"}))
def test_mean_and_variance(name):
    ours, law = LAWS[name]
    np.testing.assert_allclose(ours.mean, law.mean(), rtol=1e-9)
    np.testing.assert_allclose(ours.variance, law.var(), rtol=1e-9)
    np.testing.assert_allclose(ours.stddev, law.std(), rtol=1e-9)


@pytest.mark.parametrize("name", sorted(set(having("entropy")) - {"Poisson"}))
def test_entropy(name):
    ours, law = LAWS[name]
    np.testing.assert_allclose(ours.entropy(), law.entropy(), rtol=1e-6)
    np.testing.assert_allclose(ours.perplexity(), np.exp(law.entropy()), rtol=1e-6)


MODES = [
    (D.Beta(x(3.0), x(2.0)), 2 / 3),
    (D.Binomial(7, x(0.3)), 2),
    (D.FisherSnedecor(x(6.0), x(4.0)), 4 / 6 * 4 / 6),
    (D.Gamma(x(3.0), x(2.0)), 1),
    (D.InverseGamma(x(3.0), x(2.0)), 0.5),
    (D.Kumaraswamy(x(2.0), x(3.0)), (1 / 5) ** 0.5),
    (D.LogNormal(x(1.0), x(0.5)), math.exp(0.75)),
    (D.NegativeBinomial(x(5.0), x(0.5)), 4),
    (D.Pareto(x(2.0), x(3.0)), 2),
    (D.Poisson(x(2.5)), 2),
    (D.Weibull(x(2.0), x(2.0)), 2**0.5),
    (D.Gumbel(x(0.5), x(2.0)), 0.5),
    (D.HalfNormal(x(2.0)), 0),
]


@pytest.mark.parametrize("ours, mode", MODES, ids=[type(d).__name__ for d, _ in MODES])
def test_mode(ours, mode):
    assert ours.mode.item() == pytest.approx(mode)


def test_modes_that_are_not_unique_are_nan_or_a_corner():
    assert D.Bernoulli(x(0.5)).mode.isnan() and D.Uniform(x(0.0), x(1.0)).mode.isnan()
    assert D.Dirichlet(x([0.5, 0.5])).mode.tolist() == [1, 0]


def test_moments_that_do_not_exist_are_nan_or_infinite():
    assert D.Cauchy(x(0.0), x(1.0)).mean.isnan()
    student = D.StudentT(x([0.5, 1.5, 3.0]))
    assert student.mean.isnan().tolist() == [True, False, False]
    assert str(student.variance.tolist()) == "[nan, inf, 3.0]"
    assert D.FisherSnedecor(x(2.0), x([1.0, 3.0])).mean.isnan().tolist() == [True, False]
    assert D.Pareto(x(1.0), x(0.5)).mean == facula.inf
    assert D.InverseGamma(x(0.5), x(1.0)).mean == facula.inf
    assert D.Categorical(x([0.5, 0.5])).mean.isnan()


@pytest.mark.parametrize("probs", [0.1, 0.4995, 0.5, 0.501, 0.9])
def test_continuous_bernoulli_integrates_to_one(probs):
    ours = D.ContinuousBernoulli(x(probs))
    grid = facula.linspace(0, 1, 20_001, dtype=facula.float64)
    density = ours.log_prob(grid).exp()
    assert density.mean().item() == pytest.approx(1, abs=1e-4)
    assert (density * grid).mean().item() == pytest.approx(ours.mean.item(), abs=1e-4)
    spread = (density * (grid - ours.mean) ** 2).mean().item()
    assert spread == pytest.approx(ours.variance.item(), abs=1e-4)
    assert -(density * density.log()).mean().item() == pytest.approx(
        ours.entropy().item(), abs=1e-4
    )
    assert ours.icdf(ours.cdf(x(0.3))).item() == pytest.approx(0.3)
    assert ours.cdf(x([0.0, 1.0])).tolist() == [0, 1]


def test_categories():
    ours = D.Categorical(x([[1.0, 3.0], [0.0, 1.0]]))
    assert ours.probs.tolist() == [[0.25, 0.75], [0, 1]]
    assert ours.log_prob(facula.tensor([1, 1])).exp().tolist() == pytest.approx([0.75, 1])
    assert ours.entropy().tolist() == pytest.approx([stats.entropy([1, 3]), 0], abs=1e-6)
    assert ours.enumerate_support().tolist() == [[0, 0], [1, 1]]
    assert ours.enumerate_support(expand=False).tolist() == [[0], [1]]
    assert ours.mode.tolist() == [1, 1]


def test_multinomial_and_dirichlet_agree_with_scipy():
    counts, probs = [1.0, 2.0, 3.0], [0.2, 0.3, 0.5]
    ours = D.Multinomial(6, x(probs))
    law = stats.multinomial(6, probs)
    assert ours.log_prob(x(counts)).item() == pytest.approx(law.logpmf(counts))
    assert ours.entropy().item() == pytest.approx(law.entropy())
    never = D.Multinomial(2, logits=x([0.0, -facula.inf]))
    assert never.log_prob(x([2.0, 0.0])).item() == pytest.approx(0)
    ours, law = D.Dirichlet(x([0.5, 2.0, 3.0])), stats.dirichlet([0.5, 2.0, 3.0])
    assert ours.log_prob(x([0.2, 0.3, 0.5])).item() == pytest.approx(law.logpdf([0.2, 0.3, 0.5]))
    assert ours.entropy().item() == pytest.approx(law.entropy())
    np.testing.assert_allclose(ours.variance, law.var())


def test_multivariate_normal_agrees_with_scipy():
    mean, covariance = [0.5, -1.0], [[2.0, 0.3], [0.3, 0.5]]
    law = stats.multivariate_normal(mean, covariance)
    values = [[0.0, 0.0], [1.0, -2.0]]
    precision = np.linalg.inv(covariance)
    factor = np.linalg.cholesky(covariance)
    for given in (
        {"covariance_matrix": x(covariance)},
        {"precision_matrix": x(precision)},
        {"scale_tril": x(factor)},
    ):
        ours = D.MultivariateNormal(x(mean), **given)
        np.testing.assert_allclose(ours.log_prob(x(values)), law.logpdf(values))
        np.testing.assert_allclose(ours.entropy(), law.entropy())
        np.testing.assert_allclose(ours.covariance_matrix, covariance)
        np.testing.assert_allclose(ours.precision_matrix, precision)
        np.testing.assert_allclose(ours.scale_tril, factor)
        np.testing.assert_allclose(ours.variance, np.diag(covariance))


def test_low_rank_is_the_normal_distribution_of_its_covariance():
    loc, factor, diagonal = x([0.1, -0.2, 0.3]), x([[1.0], [0.5], [-0.3]]), x([1.0, 0.5, 2.0])
    ours = D.LowRankMultivariateNormal(loc, factor, diagonal)
    full = D.MultivariateNormal(loc, factor @ factor.mT + diagonal.diag())
    value = x([[0.3, 0.2, 0.1], [-1.0, 2.0, 0.5]])
    for what in ("covariance_matrix", "precision_matrix", "scale_tril", "variance"):
        facula.testing.assert_close(getattr(ours, what), getattr(full, what))
    facula.testing.assert_close(ours.log_prob(value), full.log_prob(value))
    facula.testing.assert_close(ours.entropy(), full.entropy())


def test_wishart_agrees_with_scipy():
    scale, value = [[2.0, 0.3], [0.3, 0.5]], [[3.0, 0.1], [0.1, 1.0]]
    law = stats.wishart(3.5, scale)
    ours = D.Wishart(x(3.5), x(scale))
    assert ours.log_prob(x(value)).item() == pytest.approx(law.logpdf(value))
    assert ours.entropy().item() == pytest.approx(law.entropy())
    np.testing.assert_allclose(ours.mean, law.mean())
    np.testing.assert_allclose(ours.mode, 0.5 * np.array(scale))
    np.testing.assert_allclose(ours.variance, law.var())


def test_lkj_is_uniform_for_a_concentration_of_one():
    ours = D.LKJCholesky(2, x(1.0))
    for correlation in (-0.9, 0.0, 0.5):
        factor = x([[1.0, 0.0], [correlation, math.sqrt(1 - correlation**2)]])
        # The density of the factor's last row, of which the correlation is the sine.
        density = ours.log_prob(factor).exp().item()
        assert density == pytest.approx(0.5)


def test_mixtures_weigh_their_components():
    means, weights = x([-1.0, 2.0]), x([0.25, 0.75])
    ours = D.MixtureSameFamily(D.Categorical(weights), D.Normal(means, x(0.5)))
    laws = [stats.norm(m, 0.5) for m in (-1, 2)]
    for value in (-1.0, 0.3, 2.0):
        density = 0.25 * laws[0].pdf(value) + 0.75 * laws[1].pdf(value)
        level = 0.25 * laws[0].cdf(value) + 0.75 * laws[1].cdf(value)
        assert ours.log_prob(x(value)).exp().item() == pytest.approx(density)
        assert ours.cdf(x(value)).item() == pytest.approx(level)
    assert ours.mean.item() == pytest.approx(1.25)
    assert ours.variance.item() == pytest.approx(0.25 + 0.25 * 0.75 * 9)


def test_relaxed_distributions_integrate_to_one():
    grid = facula.linspace(1e-5, 1 - 1e-5, 20_001, dtype=facula.float64)
    relaxed = D.RelaxedBernoulli(x(0.8), x(0.3))
    assert relaxed.log_prob(grid).exp().mean().item() == pytest.approx(1, abs=2e-2)
    relaxed = D.RelaxedOneHotCategorical(x(0.8), x([0.3, 0.7]))
    pairs = facula.stack([grid, 1 - grid], -1)
    assert relaxed.log_prob(pairs).exp().mean().item() == pytest.approx(1, abs=2e-2)


def test_exponential_families_derive_their_entropy_from_the_log_normalizer():
    for ours in (
        D.Normal(x(0.3), x(0.8)),
        D.Gamma(x(0.7), x(2.0)),
        D.Exponential(x(2.5)),
        D.Bernoulli(x(0.3)),
        D.ContinuousBernoulli(x(0.3)),
    ):
        generic = D.ExponentialFamily.entropy(ours).item()
        assert generic == pytest.approx(ours.entropy().item(), rel=1e-6)
    with pytest.raises(NotImplementedError):
        D.Poisson(x(1.0)).entropy()
