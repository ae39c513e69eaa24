"""Probability distributions, transforms of them, and divergences between them.

Samples are PyTorch's for the same seed. A sample of a distribution that has ``rsample`` can be
differentiated by its parameters; for others there is the score function: the gradient of
``-(log_prob(sample) * reward)`` estimates that of the expected reward.
"""
# ruff: noqa: F403

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula._exports import public_names as _public_names
from facula.distributions.bernoulli import *
from facula.distributions.beta import *
from facula.distributions.binomial import *
from facula.distributions.categorical import *
from facula.distributions.cauchy import *
from facula.distributions.chi2 import *
from facula.distributions.constraint_registry import biject_to as biject_to
from facula.distributions.constraint_registry import transform_to as transform_to
from facula.distributions.continuous_bernoulli import *
from facula.distributions.dirichlet import *
from facula.distributions.distribution import *
from facula.distributions.exp_family import *
from facula.distributions.exponential import *
from facula.distributions.fishersnedecor import *
from facula.distributions.gamma import *
from facula.distributions.generalized_pareto import *
from facula.distributions.geometric import *
from facula.distributions.gumbel import *
from facula.distributions.half_cauchy import *
from facula.distributions.half_normal import *
from facula.distributions.independent import *
from facula.distributions.inverse_gamma import *
from facula.distributions.kl import *
from facula.distributions.kumaraswamy import *
from facula.distributions.laplace import *
from facula.distributions.lkj_cholesky import *
from facula.distributions.log_normal import *
from facula.distributions.logistic_normal import *
from facula.distributions.lowrank_multivariate_normal import *
from facula.distributions.mixture_same_family import *
from facula.distributions.multinomial import *
from facula.distributions.multivariate_normal import *
from facula.distributions.negative_binomial import *
from facula.distributions.normal import *
from facula.distributions.one_hot_categorical import *
from facula.distributions.pareto import *
from facula.distributions.poisson import *
from facula.distributions.relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
from facula.distributions.relaxed_categorical import (
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from facula.distributions.studentT import *
from facula.distributions.transformed_distribution import *
from facula.distributions.transforms import *
from facula.distributions.uniform import *
from facula.distributions.von_mises import *
from facula.distributions.weibull import *
from facula.distributions.wishart import *

if not _TYPE_CHECKING:  # type checkers read the files, and would find nothing in a computed list
    __all__ = _public_names(globals())
