"""The positive half of a symmetric distribution."""

from __future__ import annotations

import math
from typing import ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.cauchy import Cauchy
from facula.distributions.normal import Normal
from facula.distributions.transformed_distribution import TransformedDistribution


class Half(TransformedDistribution):
    """What ``HalfNormal`` and ``HalfCauchy`` share: ``|x|`` for ``x`` symmetric about 0."""

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Normal | Cauchy

    @property
    def scale(self) -> Tensor:
        """The scale."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return facula.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return facula.where(value >= 0, log_prob, -facula.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
