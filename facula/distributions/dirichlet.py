"""Dirichlet's distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import facula
from facula._core import Tensor, _sample_dirichlet
from facula.distributions import constraints
from facula.distributions.distribution import Distribution
from facula.distributions.exp_family import ExponentialFamily
from facula.nn.functional import one_hot

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Vectors of positive numbers that sum to 1.

    Args:
        concentration: the concentration of each component, along the last dimension.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Dirichlet(facula.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _parameters = ("concentration",)

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        Distribution.__init__(
            self, concentration.shape[:-1], concentration.shape[-1:], validate_args
        )

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0)
        mode = above / above.sum(-1, keepdim=True)
        # Where all are below 1 the density is highest in the corners; the first stands for them.
        is_corner = (self.concentration < 1).all(-1, keepdim=True)
        corner = one_hot(mode.argmax(-1), mode.shape[-1]).to(mode)
        return facula.where(is_corner, corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (
            facula.xlogy(self.concentration - 1, value).sum(-1)
            + facula.lgamma(self.concentration.sum(-1))
            - facula.lgamma(self.concentration).sum(-1)
        )

    def entropy(self) -> Tensor:
        total = self.concentration.sum(-1)
        return (
            facula.lgamma(self.concentration).sum(-1)
            - facula.lgamma(total)
            - (self.concentration.shape[-1] - total) * facula.digamma(total)
            - ((self.concentration - 1) * facula.digamma(self.concentration)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        return x.lgamma().sum(-1) - facula.lgamma(x.sum(-1))
