"""Exponential families, whose entropy and divergence follow from their log normaliser."""

from __future__ import annotations

import facula
from facula._core import Tensor
from facula.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution of density ``exp(<t(x), theta> - F(theta) + k(x))``.

    A subclass gives ``_natural_params`` (theta), ``_log_normalizer`` (F) and
    ``_mean_carrier_measure`` (the mean of k); entropy and Kullback-Leibler divergence are the
    Bregman divergence of F, by automatic differentiation.

    Args:
        batch_shape: the shape of the batch of distributions.
        event_shape: the shape of one sample of one of them.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> from facula.distributions import Gamma
        >>> isinstance(Gamma(1.0, 1.0), ExponentialFamily)
        True
    """

    @property
    def _mean_carrier_measure(self) -> float | Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no mean of its carrier measure.")

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError(f"{type(self).__name__} has no natural parameters.")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no log normaliser.")

    def entropy(self) -> Tensor:
        params = [param.detach().requires_grad_() for param in self._natural_params]
        log_normalizer = self._log_normalizer(*params)
        means = facula.autograd.grad(log_normalizer.sum(), params, create_graph=True)
        entropy = log_normalizer - self._mean_carrier_measure
        for param, mean in zip(params, means, strict=True):
            entropy = entropy - (param * mean).reshape((*self._batch_shape, -1)).sum(-1)
        return entropy
