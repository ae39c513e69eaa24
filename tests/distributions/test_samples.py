"""Samples: PyTorch's for a seed, with the moments of their law, and with derivatives."""

import json
from pathlib import Path

import numpy as np
import pytest
from distribution_cases import BY_MATRIX, MATRIX_NAMES, NAMES, make

import facula
from facula import distributions as D

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "distributions.json").read_text())


@pytest.mark.parametrize("name, i", [*NAMES, *MATRIX_NAMES])
def test_a_seed_gives_pytorchs_samples_and_log_probabilities(name, i):
    distribution, _ = make(facula, name, i)
    facula.manual_seed(5)
    sample = distribution.sample((3,))
    assert sample.shape == (3, *distribution.batch_shape, *distribution.event_shape)
    assert not sample.requires_grad
    entry = GOLDEN[f"{name} {i}"]
    np.testing.assert_allclose(sample.flatten().numpy(), entry["sample"], rtol=2e-5, atol=2e-6)
    shape = sample.shape
    value = facula.tensor(entry["sample"], dtype=sample.dtype).reshape(shape)
    distribution._validate_args = False  # seven digits need not sum to 1 exactly
    log_prob = distribution.log_prob(value).detach().flatten()
    np.testing.assert_allclose(log_prob.numpy(), entry["log_prob"], rtol=2e-4, atol=2e-5)


# Those with a mean and a variance, whose samples are numbers.
MOMENTS = [
    ("Bernoulli", 0),
    ("Beta", 0),
    ("Binomial", 0),
    ("ContinuousBernoulli", 0),
    ("Dirichlet", 0),
    ("Exponential", 0),
    ("Gamma", 0),
    ("Geometric", 0),
    ("Gumbel", 0),
    ("HalfNormal", 0),
    ("Kumaraswamy", 0),
    ("Laplace", 0),
    ("LogNormal", 0),
    ("MixtureSameFamily", 0),
    ("Multinomial", 0),
    ("NegativeBinomial", 0),
    ("Normal", 0),
    ("OneHotCategorical", 0),
    ("Poisson", 0),
    ("Uniform", 0),
    ("Weibull", 0),
    ("MultivariateNormal", 0),
    ("LowRankMultivariateNormal", 0),
    ("Wishart", 0),
]


@pytest.mark.parametrize("name, i", MOMENTS)
def test_samples_have_the_mean_and_the_variance_of_their_law(name, i):
    distribution, _ = make(facula, name, i, "float64")
    n = 20_000 if name != "Wishart" else 4_000
    x = distribution.sample((n,))
    error = 6 * distribution.stddev / n**0.5
    assert ((x.mean(0) - distribution.mean).abs() <= error).all()
    # The fourth moment of a heavy tail is large: a tenth is what this many samples can tell.
    assert ((x.var(0) / distribution.variance - 1).abs() < 0.2).all()


def test_angles_of_von_mises_stay_on_the_circle_and_lean_towards_the_mean():
    angles = D.VonMises(facula.tensor(3.0), facula.tensor(4.0)).sample((5000,))
    assert angles.min() >= -facula.pi and angles.max() < facula.pi
    direction = facula.atan2(angles.sin().mean(), angles.cos().mean())
    assert abs(direction.item() - 3.0) < 0.05


def test_factors_of_lkj_are_of_correlation_matrices():
    factors = D.LKJCholesky(4, 2.0).sample((100,))
    assert D.constraints.corr_cholesky.check(factors).all()


# ---- derivatives of samples

# Made of random numbers that do not depend on the parameters.
REPARAMETERIZED = {
    *("Cauchy", "ContinuousBernoulli", "Exponential", "GeneralizedPareto", "Gumbel", "HalfCauchy"),
    *("HalfNormal", "Kumaraswamy", "Laplace", "LogNormal", "LogisticNormal", "Normal", "Pareto"),
    *("RelaxedBernoulli", "RelaxedOneHotCategorical", "TransformedDistribution", "Uniform"),
    *("Weibull", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart"),
}
DIFFERENTIABLE = [
    (name, i)
    for name, i in [*NAMES, *MATRIX_NAMES]
    if name in REPARAMETERIZED and (name in BY_MATRIX or make(facula, name, i)[1])
]


def steps_of(name, distribution, leaves):
    """A direction in which each parameter may move: matrices stay symmetric, or triangular."""
    rng = np.random.default_rng(0)
    steps = [rng.normal(size=tuple(leaf.shape)) for leaf in leaves]
    if name == "Wishart":  # of df by quantiles, as all gamma numbers: not by differences
        steps[0] = 0 * steps[0]
    if name in ("MultivariateNormal", "Wishart"):
        is_factor = "scale_tril" in vars(distribution)
        steps[1] = np.tril(steps[1]) if is_factor else steps[1] + np.swapaxes(steps[1], -1, -2)
    return steps


@pytest.mark.parametrize("name, i", DIFFERENTIABLE)
def test_derivatives_of_samples_agree_with_differences(name, i):
    distribution, leaves = make(facula, name, i, "float64")
    steps = steps_of(name, distribution, leaves)
    facula.manual_seed(2)
    sample = distribution.rsample((3,))
    weights = facula.linspace(0.5, 1.5, sample.numel(), dtype=facula.float64).reshape(sample.shape)
    gradients = facula.autograd.grad((sample * weights).sum(), leaves)
    slope = sum((g.numpy() * s).sum() for g, s in zip(gradients, steps, strict=True))

    def total(t):
        moved, _ = make(facula, name, i, "float64", [t * step for step in steps])
        facula.manual_seed(2)  # the same random numbers
        return (moved.rsample((3,)) * weights).sum().item()

    h = 1e-6
    assert slope == pytest.approx((total(h) - total(-h)) / (2 * h), rel=1e-5, abs=1e-6)


def test_straight_through_samples_pass_their_gradient_to_probs():
    logits = facula.tensor([0.5, -0.5], requires_grad=True)
    sample = D.OneHotCategoricalStraightThrough(logits=logits).rsample((4,))
    assert facula.equal(sample.detach().sum(-1), facula.ones(4))
    (sample * facula.tensor([1.0, 2.0])).sum().backward()
    probs = logits.detach().softmax(-1)
    expected = 4 * probs * (facula.tensor([1.0, 2.0]) - (probs * facula.tensor([1.0, 2.0])).sum())
    facula.testing.assert_close(logits.grad, expected)


def test_policy_gradients_flow_through_log_prob():
    probs = facula.tensor([0.3, 0.7], requires_grad=True)
    policy = D.Categorical(probs)
    action = policy.sample()
    (-policy.log_prob(action) * 2.0).backward()
    expected = facula.full((2,), 2.0)
    expected[action] -= 2 / probs.detach()[action]
    facula.testing.assert_close(probs.grad, expected)
