"""Kullback-Leibler divergences between distributions."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import facula
from facula._core import Tensor
from facula._warnings import warn_user
from facula.distributions._matrices import batch_mahalanobis, log_determinant
from facula.distributions.bernoulli import Bernoulli
from facula.distributions.beta import Beta
from facula.distributions.binomial import Binomial
from facula.distributions.categorical import Categorical
from facula.distributions.cauchy import Cauchy
from facula.distributions.continuous_bernoulli import ContinuousBernoulli
from facula.distributions.dirichlet import Dirichlet
from facula.distributions.distribution import Distribution
from facula.distributions.exp_family import ExponentialFamily
from facula.distributions.exponential import Exponential
from facula.distributions.gamma import Gamma
from facula.distributions.geometric import Geometric
from facula.distributions.gumbel import Gumbel
from facula.distributions.half_normal import HalfNormal
from facula.distributions.independent import Independent
from facula.distributions.laplace import Laplace
from facula.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _log_det,
    _mahalanobis,
)
from facula.distributions.multivariate_normal import MultivariateNormal
from facula.distributions.normal import Normal
from facula.distributions.one_hot_categorical import OneHotCategorical
from facula.distributions.pareto import Pareto
from facula.distributions.poisson import Poisson
from facula.distributions.transformed_distribution import TransformedDistribution
from facula.distributions.uniform import Uniform
from facula.distributions.utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

_Formula = Callable[[Any, Any], Tensor]
_F = TypeVar("_F", bound=_Formula)

_KL_REGISTRY: dict[tuple[type, type], _Formula] = {}
_KL_MEMOIZE: dict[tuple[type, type], _Formula | None] = {}  # what was found for a pair of types


def register_kl(type_p: type, type_q: type) -> Callable[[_F], _F]:
    """Register a formula for the divergence of two classes; a decorator.

    It is taken for subclasses too, unless a formula for a more derived pair is registered. Where
    the best match by ``p`` is not the best by ``q``, the one by ``p`` is taken, with a warning.

    Args:
        type_p: a subclass of ``Distribution``.
        type_q: a subclass of ``Distribution``.

    Example:
        >>> class Point(Distribution):
        ...     arg_constraints = {}
        >>> @register_kl(Point, Point)
        ... def _(p, q):
        ...     return facula.tensor(0.0)
        >>> kl_divergence(Point(), Point())
        tensor(0.)
    """
    for name, type_ in (("type_p", type_p), ("type_q", type_q)):
        # A base class that distributions of a package share need not be one of ours.
        if not isinstance(type_, type) or not hasattr(type_, "log_prob"):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {type_}")

    def register(formula: _F) -> _F:
        _KL_REGISTRY[type_p, type_q] = formula
        _KL_MEMOIZE.clear()
        return formula

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence, the mean of ``log(p(x) / q(x))`` for ``x`` of ``p``.

    Args:
        p: the distribution that the mean is taken over.
        q: the distribution that is compared with it.

    Shape:
        result ``batch_shape``.

    Example:
        >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
        tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch(*pair)
    formula = _KL_MEMOIZE[pair]
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {pair[0].__name__} and q type "
            f"{pair[1].__name__}"
        )
    return formula(p, q)


def _dispatch(type_p: type, type_q: type) -> _Formula | None:
    """The formula of the most derived pair of classes that the types belong to."""
    # Places in the orders of resolution: the less, the more derived.
    ranks = {
        pair: (type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1]))
        for pair in _KL_REGISTRY
        if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])
    }
    if not ranks:
        return None
    by_p = min(ranks, key=lambda pair: ranks[pair])
    by_q = min(ranks, key=lambda pair: ranks[pair][::-1])
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warn_user(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
        )
    return _KL_REGISTRY[by_p]


# ---- pairs of one family


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    softplus = facula.nn.functional.softplus
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones = _where(p.probs == 0, 0.0, _where(q.probs == 0, facula.inf, ones))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros = _where(p.probs == 1, 0.0, _where(q.probs == 1, facula.inf, zeros))
    return ones + zeros


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    mean_log = a.digamma() - total.digamma().unsqueeze(-1)
    return (
        total.lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma() + (a - b) * mean_log).sum(-1)
    )


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return _where(p.total_count > q.total_count, facula.inf, p.total_count * each)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return _where(p.probs == 0, 0.0, _where(q.probs == 0, facula.inf, terms)).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
@register_kl(Uniform, ContinuousBernoulli)
@register_kl(Beta, ContinuousBernoulli)
def _to_continuous_bernoulli(p: Distribution, q: ContinuousBernoulli) -> Tensor:
    log_q = p.mean * q.logits + facula.log1p(-q.probs) + q._cont_bern_log_norm()
    return _inside(p, q, -p.entropy() - log_q)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exp_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log normaliser."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences"
        )
    params = [param.detach().requires_grad_() for param in p._natural_params]
    log_normalizer = p._log_normalizer(*params)
    means = facula.autograd.grad(log_normalizer.sum(), params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - log_normalizer
    for mine, theirs, mean in zip(params, q._natural_params, means, strict=True):
        result = result - _sum_rightmost((theirs - mine) * mean, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log()
        + q.concentration.lgamma()
        - p.concentration.lgamma()
        + (p.concentration - q.concentration) * p.concentration.digamma()
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - facula.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * facula.exp(-distance / p.scale) - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    numerator = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return numerator.log() - (4 * p.scale * q.scale).log()


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return _where(p.scale < q.scale, facula.inf, result)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL of transformed distributions is implemented for equal transforms and event shapes."
        )
    n_taken = len(p.event_shape) - len(p.base_dist.event_shape)
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), n_taken)


@register_kl(Independent, Independent)
def _independent(p: Independent[Any], q: Independent[Any]) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL of Independent is implemented for equal reinterpreted_batch_ndims."
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# ---- multivariate normal distributions


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check_same_events(p, q)
    p_tril, q_tril = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    return _normal_divergence(
        2 * log_determinant(q_tril) - 2 * log_determinant(p_tril),
        facula.linalg.solve_triangular(*_same_batch(q_tril, p_tril), upper=False)
        .pow(2)
        .sum([-2, -1]),
        batch_mahalanobis(q_tril, q.loc - p.loc),
        p.event_shape[0],
    )


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _to_low_rank(p: Any, q: LowRankMultivariateNormal) -> Tensor:
    _check_same_events(p, q)
    factor, diagonal = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    # tr((W W^T + D)^-1 S) = tr(D^-1 S) - tr(C^-1 W^T D^-1 S D^-1 W), S = R R^T + E.
    scaled = facula.linalg.solve_triangular(
        *_same_batch(q._capacitance_tril, factor.mT / diagonal.unsqueeze(-2)), upper=False
    )
    if isinstance(p, LowRankMultivariateNormal):
        roots = [p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()]
        log_det = _log_det(p._unbroadcasted_cov_diag, p._capacitance_tril)
    else:
        roots = [p._unbroadcasted_scale_tril]
        log_det = 2 * log_determinant(p._unbroadcasted_scale_tril)
    trace = _total(
        (root.pow(2).sum(-1) / diagonal).sum(-1) - (scaled @ root).pow(2).sum([-2, -1])
        for root in roots
    )
    return _normal_divergence(
        _log_det(diagonal, q._capacitance_tril) - log_det,
        trace,
        _mahalanobis(factor, diagonal, q.loc - p.loc, q._capacitance_tril),
        p.event_shape[0],
    )


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _from_low_rank(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check_same_events(p, q)
    q_tril = q._unbroadcasted_scale_tril
    roots = [p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()]
    trace = _total(
        facula.linalg.solve_triangular(*_same_batch(q_tril, root), upper=False).pow(2).sum([-2, -1])
        for root in roots
    )
    return _normal_divergence(
        2 * log_determinant(q_tril) - _log_det(p._unbroadcasted_cov_diag, p._capacitance_tril),
        trace,
        batch_mahalanobis(q_tril, q.loc - p.loc),
        p.event_shape[0],
    )


def _total(terms: Iterable[Tensor]) -> Tensor:
    return functools.reduce(operator.add, terms)


def _check_same_events(p: Distribution, q: Distribution) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {type(p).__name__}s with different event shapes cannot be "
            "computed"
        )


def _same_batch(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    shape = facula.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.expand((*shape, *a.shape[-2:])), b.expand((*shape, *b.shape[-2:]))


def _normal_divergence(log_det: Tensor, trace: Tensor, distance: Tensor, n: int) -> Tensor:
    return 0.5 * (log_det + trace + distance - n)


# ---- from the moments of p: the mean of log q is a formula of q in them


@register_kl(Bernoulli, Poisson)
def _bernoulli_to_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
@register_kl(Pareto, Exponential)
@register_kl(Uniform, Exponential)
def _to_exponential(p: Distribution, q: Exponential) -> Tensor:
    return _inside(p, q, -p.entropy() - q.rate.log() + q.rate * p.mean)


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Pareto, Normal)
@register_kl(Uniform, Normal)
def _to_normal(p: Distribution, q: Normal) -> Tensor:
    spread = (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))
    # A mean of inf leaves inf - inf in the variance of heavy tails.
    spread = _where(p.variance == facula.inf, facula.inf, spread)
    return -p.entropy() + q.scale.log() + 0.5 * math.log(2 * math.pi) + spread


@register_kl(Uniform, Uniform)
@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _to_uniform(p: Distribution, q: Uniform) -> Tensor:
    return _inside(p, q, -p.entropy() + (q.high - q.low).log())


@register_kl(Beta, Gamma)
@register_kl(Exponential, Gamma)
@register_kl(Pareto, Gamma)
@register_kl(Uniform, Gamma)
def _to_gamma(p: Beta | Exponential | Pareto | Uniform, q: Gamma) -> Tensor:
    log_q = (
        facula.xlogy(q.concentration, q.rate)
        - q.concentration.lgamma()
        + (q.concentration - 1) * _mean_log(p)
        - q.rate * p.mean
    )
    return _inside(p, q, -p.entropy() - log_q)


@register_kl(Uniform, Beta)
def _uniform_to_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    mirrored = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    log_q = (
        (a + b).lgamma()
        - a.lgamma()
        - b.lgamma()
        + (a - 1) * _mean_log(p)
        + (b - 1) * _mean_log(mirrored)
    )
    return _inside(p, q, -p.entropy() - log_q)


@register_kl(Uniform, Pareto)
def _uniform_to_pareto(p: Uniform, q: Pareto) -> Tensor:
    log_q = q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p)
    return _where(p.low < q.scale, facula.inf, -p.entropy() - log_q)


@register_kl(Gumbel, Gumbel)
@register_kl(Exponential, Gumbel)
@register_kl(Gamma, Gumbel)
@register_kl(Normal, Gumbel)
@register_kl(Uniform, Gumbel)
def _to_gumbel(p: Exponential | Gamma | Gumbel | Normal | Uniform, q: Gumbel) -> Tensor:
    log_q = (q.loc - p.mean) / q.scale - _mean_exp_minus(p, q) - q.scale.log()
    return -p.entropy() - log_q


@register_kl(Normal, Laplace)
def _normal_to_laplace(p: Normal, q: Laplace) -> Tensor:
    z = (p.loc - q.loc) / p.scale
    distance = p.scale * (
        math.sqrt(2 / math.pi) * facula.exp(-0.5 * z.pow(2)) + z * facula.erf(math.sqrt(0.5) * z)
    )
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


def _mean_log(p: Beta | Exponential | Pareto | Uniform) -> Tensor:
    """The mean of ``log(x)``."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (facula.xlogy(p.high, p.high) - facula.xlogy(p.low, p.low)) / (p.high - p.low) - 1


def _mean_exp_minus(p: Exponential | Gamma | Gumbel | Normal | Uniform, q: Gumbel) -> Tensor:
    """The mean of ``exp(-(x - q.loc) / q.scale)``."""
    shift = q.loc / q.scale
    if isinstance(p, Gumbel):
        return facula.exp(shift - p.loc / q.scale + (1 + p.scale / q.scale).lgamma())
    if isinstance(p, Exponential):
        return shift.exp() * (p.rate * q.scale / (p.rate * q.scale + 1))
    if isinstance(p, Gamma):
        return shift.exp() * (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration)
    if isinstance(p, Normal):
        return facula.exp(shift - p.loc / q.scale + 0.5 * (p.scale / q.scale).pow(2))
    low, high = ((bound - q.loc) / q.scale for bound in (p.low, p.high))
    return (facula.exp(-low) - facula.exp(-high)) * q.scale / (p.high - p.low)


def _where(condition: Tensor, value: float, other: Tensor) -> Tensor:
    return facula.where(condition, value, other)


def _inside(p: Any, q: Any, result: Tensor) -> Tensor:
    """The result, and infinity where p gives values that q does not."""
    is_outside = _bound(p, "lower") < _bound(q, "lower")
    is_outside = is_outside | (_bound(p, "upper") > _bound(q, "upper"))
    return facula.where(is_outside, facula.inf, result)


def _bound(distribution: Distribution, side: str) -> Any:
    missing = -facula.inf if side == "lower" else facula.inf
    return facula.as_tensor(getattr(distribution.support, f"{side}_bound", missing))


# ---- where p gives values that q cannot


def _infinite(p: Distribution, q: Distribution) -> Tensor:
    return facula.full_like(p.mean, facula.inf)


_IMPOSSIBLE: dict[type[Distribution], list[type[Distribution]]] = {
    Beta: [Pareto],
    ContinuousBernoulli: [Pareto],
    Exponential: [Beta, ContinuousBernoulli, Pareto, Uniform],
    Gamma: [Beta, ContinuousBernoulli, Pareto, Uniform],
    Gumbel: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Laplace: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Normal: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Pareto: [Beta, ContinuousBernoulli, Uniform],
    Poisson: [Bernoulli, Binomial],
}
for _p, _qs in _IMPOSSIBLE.items():
    for _q in _qs:
        register_kl(_p, _q)(_infinite)
