"""Divergences: against integrals of their definition, and the choice of a formula by classes."""

import itertools

import numpy as np
import pytest

import facula
from facula import distributions as D
from facula.distributions.kl import _KL_REGISTRY


def x(values):
    return facula.tensor(values, dtype=facula.float64)


EXAMPLES = {
    D.Beta: (D.Beta(x(2.5), x(1.5)), D.Beta(x(1.2), x(3.0))),
    D.Cauchy: (D.Cauchy(x(0.3), x(1.0)), D.Cauchy(x(-0.5), x(2.0))),
    D.Chi2: (D.Chi2(x(3.0)), D.Chi2(x(5.0))),
    D.ContinuousBernoulli: (D.ContinuousBernoulli(x(0.3)), D.ContinuousBernoulli(x(0.5))),
    D.Exponential: (D.Exponential(x(1.5)), D.Exponential(x(0.7))),
    D.Gamma: (D.Gamma(x(2.0), x(1.5)), D.Gamma(x(1.3), x(0.7))),
    D.Gumbel: (D.Gumbel(x(0.3), x(1.0)), D.Gumbel(x(-0.5), x(2.0))),
    D.HalfNormal: (D.HalfNormal(x(1.0)), D.HalfNormal(x(2.0))),
    D.Laplace: (D.Laplace(x(0.3), x(1.0)), D.Laplace(x(-0.5), x(2.0))),
    D.LogNormal: (D.LogNormal(x(0.3), x(0.5)), D.LogNormal(x(-0.5), x(1.0))),
    D.Normal: (D.Normal(x(0.3), x(1.0)), D.Normal(x(-0.5), x(2.0))),
    D.Pareto: (D.Pareto(x(1.0), x(5.0)), D.Pareto(x(0.5), x(3.0))),
    D.Uniform: (D.Uniform(x(0.6), x(0.9)), D.Uniform(x(-0.5), x(1.0))),
}
PAIRS = [
    (p, q)
    for p, q in itertools.product(EXAMPLES, EXAMPLES)
    if any(issubclass(p, a) and issubclass(q, b) for a, b in _KL_REGISTRY)
]


def bounds_of(distribution):
    support = distribution.support
    return (
        float(getattr(support, "lower_bound", -facula.inf)),
        float(getattr(support, "upper_bound", facula.inf)),
    )


def integral(p, q):
    """The definition, summed over the middles of cells where p has almost all of its mass."""
    low, high = bounds_of(p)
    far = 4000.0 if isinstance(p, D.Cauchy) else 80.0
    low, high, n = max(low, -far), min(high, far), 400_000
    width = (high - low) / n
    points = low + width * (facula.arange(n, dtype=facula.float64) + 0.5)
    log_p, log_q = p.log_prob(points), q.log_prob(points)
    density = log_p.exp()
    terms = facula.where(density > 0, density * (log_p - log_q), 0.0)
    return (terms.sum() * width).item()


@pytest.mark.parametrize("p, q", PAIRS, ids=[f"{p.__name__}-{q.__name__}" for p, q in PAIRS])
def test_the_divergence_is_the_integral_of_its_definition(p, q):
    first, second = EXAMPLES[p][0], EXAMPLES[q][1]
    try:
        ours = D.kl_divergence(first, second).item()
    except NotImplementedError:
        # Registered for a base class, whose formula is of one family with itself.
        assert p is not q
        return
    (low, high), (q_low, q_high) = bounds_of(first), bounds_of(second)
    if low < q_low or high > q_high:
        assert ours == facula.inf
    else:
        assert ours == pytest.approx(integral(first, second), rel=2e-3, abs=1e-4)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_divergence_of_a_distribution_from_itself_is_zero(kind):
    ours = EXAMPLES[kind][0]
    assert D.kl_divergence(ours, ours).item() == pytest.approx(0, abs=1e-6)


def sum_of_definition(p, q, support):
    log_p, log_q = p.log_prob(support), q.log_prob(support)
    return (log_p.exp() * (log_p - log_q)).sum(0)


def test_discrete_divergences_are_the_sums_of_their_definition():
    counts = facula.arange(200, dtype=facula.float64).unsqueeze(-1)
    binary = facula.tensor([[0.0], [1.0]], dtype=facula.float64)
    rates, probs = x([0.5, 4.0]), x([0.2, 0.7])
    for p, q, support in [
        (D.Bernoulli(probs), D.Bernoulli(x([0.5, 0.6])), binary),
        (D.Bernoulli(probs), D.Poisson(rates), binary),
        (D.Binomial(5, probs), D.Binomial(5, x([0.5, 0.6])), counts[:6]),
        (D.Geometric(probs), D.Geometric(x([0.5, 0.6])), counts),
        (D.Poisson(rates), D.Poisson(x([1.5, 3.0])), counts[:60]),
        (D.Categorical(x([[0.2, 0.8]] * 2)), D.Categorical(x([[0.5, 0.5]] * 2)), binary),
    ]:
        expected = sum_of_definition(p, q, support)
        facula.testing.assert_close(D.kl_divergence(p, q), expected, rtol=1e-6, atol=1e-7)
    one_hot = [D.OneHotCategorical(x(w)) for w in ([0.2, 0.8], [0.5, 0.5])]
    same = [D.Categorical(x(w)) for w in ([0.2, 0.8], [0.5, 0.5])]
    facula.testing.assert_close(D.kl_divergence(*one_hot), D.kl_divergence(*same))


def test_what_cannot_happen_costs_nothing_and_what_q_excludes_everything():
    certain, impossible, even = (D.Bernoulli(x(p)) for p in (1.0, 0.0, 0.5))
    assert D.kl_divergence(certain, even).item() == pytest.approx(np.log(2), rel=1e-5)
    assert D.kl_divergence(even, impossible) == facula.inf
    zero, both = D.Categorical(x([1.0, 0.0])), D.Categorical(x([0.5, 0.5]))
    assert D.kl_divergence(zero, both).item() == pytest.approx(np.log(2))
    assert D.kl_divergence(both, zero) == facula.inf
    assert D.kl_divergence(D.Poisson(x(1.0)), D.Binomial(3, x(0.5))) == facula.inf


def test_dirichlet_and_beta_agree():
    p, q = D.Beta(x(2.5), x(1.5)), D.Beta(x(1.2), x(3.0))
    vectors = D.Dirichlet(x([2.5, 1.5])), D.Dirichlet(x([1.2, 3.0]))
    facula.testing.assert_close(D.kl_divergence(p, q), D.kl_divergence(*vectors))


def test_multivariate_normal_divergences_agree_with_each_other():
    loc = x([[0.1, -0.2, 0.3], [1.0, 0.0, -1.0]])
    low = [
        D.LowRankMultivariateNormal(loc, x(w), x(d))
        for w, d in [
            ([[1.0], [0.5], [-0.3]], [1.0, 0.5, 2.0]),
            ([[0.2, 0.3], [0.5, 1.0], [0.1, 0.0]], [0.7, 1.5, 1.0]),
        ]
    ]
    full = [D.MultivariateNormal(d.loc + k, d.covariance_matrix) for k, d in enumerate(low)]
    low[1].loc = full[1].loc
    a, b = (d.covariance_matrix.numpy() for d in full)
    step = (full[1].loc - full[0].loc).numpy()
    inverse = np.linalg.inv(b)
    expected = 0.5 * (
        np.linalg.slogdet(b)[1]
        - np.linalg.slogdet(a)[1]
        + np.trace(inverse @ a, axis1=-2, axis2=-1)
        + np.einsum("bi,bij,bj->b", step, inverse, step)
        - 3
    )
    for p, q in itertools.product((low[0], full[0]), (low[1], full[1])):
        np.testing.assert_allclose(D.kl_divergence(p, q), expected, rtol=1e-8)
    with pytest.raises(ValueError, match="different event shapes"):
        D.kl_divergence(full[0], D.MultivariateNormal(x([0.0]), x([[1.0]])))


def test_wishart_divergence_is_of_its_exponential_family():
    p = D.Wishart(x(4.0), x([[2.0, 0.3], [0.3, 0.5]]))
    q = D.Wishart(x(3.5), x([[1.0, 0.0], [0.0, 1.0]]))
    sample = p.sample((20_000,))
    estimate = (p.log_prob(sample) - q.log_prob(sample)).mean().item()
    assert D.kl_divergence(p, q).item() == pytest.approx(estimate, rel=0.05)


def test_the_general_formula_of_exponential_families_agrees_with_the_special_ones():
    general = _KL_REGISTRY[D.ExponentialFamily, D.ExponentialFamily]
    for kind in (D.Beta, D.Exponential, D.Gamma, D.Normal):
        p, q = EXAMPLES[kind]
        assert general(p, q).item() == pytest.approx(D.kl_divergence(p, q).item(), rel=1e-6)
    with pytest.raises(NotImplementedError, match="different exponential families"):
        general(EXAMPLES[D.Gamma][0], EXAMPLES[D.Normal][1])


def test_independent_and_transformed_sum_over_their_events():
    p, q = (D.Normal(x([m, 1.0]), x(1.0)) for m in (0.0, 2.0))
    assert D.kl_divergence(D.Independent(p, 1), D.Independent(q, 1)).item() == 2
    transformed = [D.TransformedDistribution(d, D.StickBreakingTransform()) for d in (p, q)]
    assert D.kl_divergence(*transformed).item() == 2
    with pytest.raises(NotImplementedError):
        D.kl_divergence(D.Independent(p, 1), D.Independent(q, 0))
    with pytest.raises(NotImplementedError, match="equal transforms"):
        D.kl_divergence(transformed[0], D.LogNormal(x([0.0]), x([1.0])))


# ---- which formula is taken


@pytest.fixture
def registry():
    """The table as it was, whatever a test registers."""
    before = dict(_KL_REGISTRY)
    yield
    _KL_REGISTRY.clear()
    _KL_REGISTRY.update(before)
    D.kl._KL_MEMOIZE.clear()


class Base(D.Distribution):
    arg_constraints = {}  # noqa: RUF012


class Derived(Base):
    pass


def constant(value):
    return lambda p, q: facula.tensor(float(value))


def test_the_most_derived_pair_is_taken(registry):
    D.register_kl(Base, Base)(constant(1))
    assert D.kl_divergence(Derived(), Derived()).item() == 1
    D.register_kl(Derived, Derived)(constant(2))
    assert D.kl_divergence(Derived(), Derived()).item() == 2
    assert D.kl_divergence(Derived(), Base()).item() == 1


def test_an_ambiguous_pair_warns_and_follows_the_first(registry):
    D.register_kl(Base, Derived)(constant(1))
    D.register_kl(Derived, Base)(constant(2))
    with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Derived, Derived\)"):
        assert D.kl_divergence(Derived(), Derived()).item() == 2


def test_a_class_that_distributions_share_need_not_be_one_of_ours():
    class Shared:
        def log_prob(self, value):
            raise NotImplementedError

    class Own(Shared, D.Normal):
        pass

    D.register_kl(Base, Shared)(lambda p, q: facula.tensor(3.0))
    assert D.kl_divergence(Base(), Own(0.0, 1.0)).item() == 3


def test_pairs_that_are_not_registered_are_refused():
    with pytest.raises(NotImplementedError, match="p type Base and q type Normal"):
        D.kl_divergence(Base(), D.Normal(0.0, 1.0))
    with pytest.raises(TypeError, match="type_p to be a Distribution subclass"):
        D.register_kl(int, D.Normal)
    with pytest.raises(TypeError, match="type_q to be a Distribution subclass"):
        D.register_kl(D.Normal, 3)
