"""Distributions with parameters, made the same way of Facula and of PyTorch.

A case is a function of the module of distributions and of a ``Maker``, which makes tensors and
remembers them.
"""


class Maker:
    """Tensors of a framework and dtype, which are parameters that require a gradient.

    With ``offsets`` the parameters are moved by them, in the order in which they are made.
    """

    def __init__(self, lib, dtype="float32", offsets=()):
        self.lib, self.dtype, self.leaves = lib, getattr(lib, dtype), []
        self.offsets = list(offsets)

    def __call__(self, values):
        if self.offsets:
            values = values + self.offsets.pop(0)
        leaf = self.lib.tensor(values, dtype=self.dtype, requires_grad=True)
        self.leaves.append(leaf)
        return leaf

    def plain(self, values):
        return self.lib.tensor(values, dtype=self.dtype)


_COVARIANCE = [[2.0, 0.3], [0.3, 0.5]]
_TRIL = [[1.0, 0.0, 0.0], [0.5, 1.5, 0.0], [-0.3, 0.2, 0.7]]

# Those that need decompositions of matrices.
BY_MATRIX = {
    "LowRankMultivariateNormal": [
        lambda D, x: D.LowRankMultivariateNormal(
            x([0.1, -0.2, 0.3]), x([[1.0], [0.5], [-0.3]]), x([1.0, 0.5, 2.0])
        ),
        lambda D, x: D.LowRankMultivariateNormal(
            x([[0.1, -0.2], [0.4, 1.0]]), x([[1.0, 0.2], [0.5, 0.1]]), x([1.0, 0.5])
        ),
    ],
    "MultivariateNormal": [
        lambda D, x: D.MultivariateNormal(x([0.5, -1.0]), covariance_matrix=x(_COVARIANCE)),
        lambda D, x: D.MultivariateNormal(x([0.5, -1.0]), precision_matrix=x(_COVARIANCE)),
        lambda D, x: D.MultivariateNormal(x([0.5, -1.0, 2.0]), scale_tril=x(_TRIL)),
        lambda D, x: D.MultivariateNormal(x([[0.5, -1.0], [0.0, 1.0]]), x(_COVARIANCE)),
        lambda D, x: D.MultivariateNormal(x([0.5, -1.0]), x([_COVARIANCE, [[1.0, 0], [0, 2.0]]])),
    ],
    "Wishart": [
        lambda D, x: D.Wishart(x(3.5), covariance_matrix=x(_COVARIANCE)),
        lambda D, x: D.Wishart(x(4.0), precision_matrix=x(_COVARIANCE)),
        lambda D, x: D.Wishart(x([4.0, 5.5]), scale_tril=x(_TRIL)),
    ],
}

CASES = {
    "Bernoulli": [
        lambda D, x: D.Bernoulli(x([0.7, 0.2, 0.4])),
        lambda D, x: D.Bernoulli(0.3),
        lambda D, x: D.Bernoulli(logits=x([0.0, -1.5, 3.0])),
        lambda D, x: D.Bernoulli(x.plain([0.0, 0.5, 1.0])),
    ],
    "Beta": [
        lambda D, x: D.Beta(x([0.5, 2.0, 30.0]), x([1.5, 3.0, 4.0])),
        lambda D, x: D.Beta(0.7, 0.4),
        lambda D, x: D.Beta(x([[1.0], [2.0]]), x([0.5, 3.0])),
    ],
    "Binomial": [
        lambda D, x: D.Binomial(10, x([0.7, 0.2, 0.4])),
        lambda D, x: D.Binomial(x.plain([100.0, 3.0]), logits=x([1.0, -2.0])),
        lambda D, x: D.Binomial(x.plain([[2.0], [5.0]]), x([0.2, 0.6])),
        lambda D, x: D.Binomial(3, x.plain([0.0, 1.0])),
    ],
    "Categorical": [
        lambda D, x: D.Categorical(x([0.1, 0.7, 0.4])),
        lambda D, x: D.Categorical(logits=x([[0.0, 1.0, -1.0], [2.0, 0.3, 0.0]])),
        lambda D, x: D.Categorical(x.plain([[1.0, 0.0], [0.0, 1.0]])),
    ],
    "Cauchy": [
        lambda D, x: D.Cauchy(x([0.0, 1.0]), x([1.0, 0.5])),
        lambda D, x: D.Cauchy(0.0, 1.0),
        lambda D, x: D.Cauchy(x([0.0]), 1.0),
    ],
    "Chi2": [lambda D, x: D.Chi2(x([0.5, 3.0, 40.0])), lambda D, x: D.Chi2(2.0)],
    "ContinuousBernoulli": [
        lambda D, x: D.ContinuousBernoulli(x([0.7, 0.2, 0.4999, 0.5])),
        lambda D, x: D.ContinuousBernoulli(0.3),
        lambda D, x: D.ContinuousBernoulli(logits=x([0.0, -1.5, 3.0])),
    ],
    "Dirichlet": [
        lambda D, x: D.Dirichlet(x([0.5, 1.5, 3.0])),
        lambda D, x: D.Dirichlet(x([[0.2, 0.3, 0.4], [2.0, 30.0, 4.0]])),
    ],
    "Exponential": [
        lambda D, x: D.Exponential(x([0.7, 2.5])),
        lambda D, x: D.Exponential(1.0),
    ],
    "FisherSnedecor": [
        lambda D, x: D.FisherSnedecor(x([1.5, 4.0, 9.0]), x([1.0, 3.0, 7.0])),
        lambda D, x: D.FisherSnedecor(3.0, 5.0),
    ],
    "Gamma": [
        lambda D, x: D.Gamma(x([0.3, 1.0, 8.0]), x([2.0, 0.5, 1.0])),
        lambda D, x: D.Gamma(1.0, 1.0),
        lambda D, x: D.Gamma(x([[0.5], [2.0]]), x([1.0, 3.0])),
    ],
    "GeneralizedPareto": [
        lambda D, x: D.GeneralizedPareto(x([0.0, 1.0]), x([1.0, 0.5]), x([0.2, -0.4])),
        lambda D, x: D.GeneralizedPareto(x([0.0, 1.0]), 1.0, x.plain([0.0, 1.5])),
        lambda D, x: D.GeneralizedPareto(1.0, 2.0, 0.0),
    ],
    "Geometric": [
        lambda D, x: D.Geometric(x([0.7, 0.2, 0.4])),
        lambda D, x: D.Geometric(0.3),
        lambda D, x: D.Geometric(logits=x([0.5, -1.0])),
        lambda D, x: D.Geometric(x.plain([1.0, 0.5])),
    ],
    "Gumbel": [
        lambda D, x: D.Gumbel(x([0.0, 1.0]), x([1.0, 0.5])),
        lambda D, x: D.Gumbel(0.0, 1.0),
    ],
    "HalfCauchy": [lambda D, x: D.HalfCauchy(x([0.5, 2.0])), lambda D, x: D.HalfCauchy(1.0)],
    "HalfNormal": [lambda D, x: D.HalfNormal(x([0.5, 2.0])), lambda D, x: D.HalfNormal(1.0)],
    "Independent": [
        lambda D, x: D.Independent(D.Normal(x([[0.0, 1.0], [2.0, 3.0]]), x([1.0, 0.5])), 1),
        lambda D, x: D.Independent(D.Bernoulli(x([0.2, 0.6])), 0),
        lambda D, x: D.Independent(D.Gamma(x([[0.5, 1.0]]), 1.0), 2),
    ],
    "InverseGamma": [
        lambda D, x: D.InverseGamma(x([0.5, 1.5, 3.0]), x([1.0, 2.0, 0.5])),
        lambda D, x: D.InverseGamma(4.0, 1.0),
    ],
    "Kumaraswamy": [
        lambda D, x: D.Kumaraswamy(x([0.5, 1.5, 3.0]), x([1.0, 2.0, 0.5])),
        lambda D, x: D.Kumaraswamy(2.0, 2.0),
    ],
    "LKJCholesky": [
        lambda D, x: D.LKJCholesky(3, x([0.5, 1.0, 2.0])),
        lambda D, x: D.LKJCholesky(2, 1.5),
        lambda D, x: D.LKJCholesky(5, x(3.0)),
    ],
    "Laplace": [
        lambda D, x: D.Laplace(x([0.0, 1.0]), x([1.0, 0.5])),
        lambda D, x: D.Laplace(0.0, 1.0),
    ],
    "LogNormal": [
        lambda D, x: D.LogNormal(x([0.0, 1.0]), x([1.0, 0.5])),
        lambda D, x: D.LogNormal(0.0, 1.0),
    ],
    "LogisticNormal": [
        lambda D, x: D.LogisticNormal(x([0.0, 1.0]), x([1.0, 0.5])),
        lambda D, x: D.LogisticNormal(x([[0.3, 0.1, -1.0], [0.0, 0.0, 0.0]]), x([[0.5], [2.0]])),
        lambda D, x: D.LogisticNormal(0.0, 1.0),
    ],
    "MixtureSameFamily": [
        lambda D, x: D.MixtureSameFamily(
            D.Categorical(x([0.3, 0.7])), D.Normal(x([-1.0, 2.0]), x([0.5, 1.5]))
        ),
        lambda D, x: D.MixtureSameFamily(
            D.Categorical(logits=x([[0.3, 0.7, 0.0], [1.0, 0.0, -1.0]])),
            D.Independent(
                D.Normal(
                    x([[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [[0.5, 0.1], [0.2, 0.3], [0.0, 0.0]]]),
                    1.0,
                ),
                1,
            ),
        ),
        lambda D, x: D.MixtureSameFamily(D.Categorical(x([0.3, 0.7])), D.Poisson(x([1.0, 9.0]))),
    ],
    "Multinomial": [
        lambda D, x: D.Multinomial(8, x([0.1, 0.2, 0.7])),
        lambda D, x: D.Multinomial(3, logits=x([[0.0, 1.0], [2.0, -1.0]])),
        lambda D, x: D.Multinomial(1, x.plain([1.0, 0.0])),
    ],
    "NegativeBinomial": [
        lambda D, x: D.NegativeBinomial(5, x([0.7, 0.2, 0.4])),
        lambda D, x: D.NegativeBinomial(x([1.5, 20.0]), logits=x([0.5, -1.0])),
    ],
    "Normal": [
        lambda D, x: D.Normal(x([0.3, -1.0]), x([1.0, 2.5])),
        lambda D, x: D.Normal(0.0, 1.0),
        lambda D, x: D.Normal(x([[0.0], [1.0]]), x([1.0, 2.0, 3.0])),
        lambda D, x: D.Normal(x([0.5] * 20), 2.0),
    ],
    "OneHotCategorical": [
        lambda D, x: D.OneHotCategorical(x([0.1, 0.7, 0.4])),
        lambda D, x: D.OneHotCategorical(logits=x([[0.0, 1.0], [2.0, 0.3]])),
    ],
    "OneHotCategoricalStraightThrough": [
        lambda D, x: D.OneHotCategoricalStraightThrough(x([0.1, 0.7, 0.4])),
        lambda D, x: D.OneHotCategoricalStraightThrough(logits=x([[0.0, 1.0], [2.0, 0.3]])),
    ],
    "Pareto": [
        lambda D, x: D.Pareto(x([1.0, 0.5, 2.0]), x([0.5, 1.5, 3.0])),
        lambda D, x: D.Pareto(1.0, 1.0),
    ],
    "Poisson": [
        lambda D, x: D.Poisson(x([0.5, 4.0, 70.0])),
        lambda D, x: D.Poisson(0.2),
        lambda D, x: D.Poisson(x.plain([0.0, 1.0])),
    ],
    "RelaxedBernoulli": [
        lambda D, x: D.RelaxedBernoulli(x.plain([2.0]), x([0.7, 0.2, 0.4])),
        lambda D, x: D.RelaxedBernoulli(x(0.5), logits=x([1.0, -2.0])),
    ],
    "RelaxedOneHotCategorical": [
        lambda D, x: D.RelaxedOneHotCategorical(x.plain([2.0]), x([0.1, 0.7, 0.2])),
        lambda D, x: D.RelaxedOneHotCategorical(x(0.5), logits=x([[0.0, 1.0], [2.0, 0.3]])),
    ],
    "StudentT": [
        lambda D, x: D.StudentT(x([0.5, 1.5, 8.0]), x([0.0, 1.0, -1.0]), x([1.0, 2.0, 0.5])),
        lambda D, x: D.StudentT(3.0),
    ],
    "TransformedDistribution": [
        lambda D, x: D.TransformedDistribution(D.Normal(x([0.0, 1.0]), x([1.0, 0.5])), []),
        lambda D, x: D.TransformedDistribution(
            D.Laplace(x([0.0, 1.0]), 1.0), [D.ExpTransform(), D.PowerTransform(x(2.0))]
        ),
        lambda D, x: D.TransformedDistribution(
            D.Uniform(0.0, x([1.0, 1.0])),
            [D.SigmoidTransform().inv, D.AffineTransform(x([0.5, 1.0]), x([-2.0, 3.0]))],
        ),
        lambda D, x: D.TransformedDistribution(
            D.Normal(x([0.0, 1.0, 2.0]), 1.0), D.StickBreakingTransform()
        ),
        lambda D, x: D.TransformedDistribution(
            D.Normal(0.0, 1.0), D.AffineTransform(x([[0.5], [1.0]]), x([2.0, -3.0]))
        ),
        lambda D, x: D.TransformedDistribution(
            D.Independent(D.Normal(x([0.0, 1.0, 2.0, 3.0]), 1.0), 1),
            D.ReshapeTransform((4,), (2, 2)),
        ),
    ],
    "Uniform": [
        lambda D, x: D.Uniform(x([0.0, -2.0]), x([1.0, 3.0])),
        lambda D, x: D.Uniform(0.0, 1.0),
    ],
    "VonMises": [
        lambda D, x: D.VonMises(x([0.0, 1.0, 3.0]), x([0.5, 3.0, 50.0])),
        lambda D, x: D.VonMises(x(-1.0), x(1e-6)),
    ],
    "Weibull": [
        lambda D, x: D.Weibull(x([0.5, 2.0]), x([1.5, 3.0])),
        lambda D, x: D.Weibull(1.0, 1.0),
    ],
}


def _names(cases):
    return [(name, i) for name, functions in cases.items() for i in range(len(functions))]


NAMES = _names(CASES)
MATRIX_NAMES = _names(BY_MATRIX)


def make(lib, name, i, dtype="float32", offsets=()):
    """A distribution and its parameters."""
    maker = Maker(lib, dtype, offsets)
    distribution = {**CASES, **BY_MATRIX}[name][i](lib.distributions, maker)
    return distribution, maker.leaves
