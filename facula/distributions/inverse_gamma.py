"""The inverse gamma distribution."""

from __future__ import annotations

from typing import ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.gamma import Gamma
from facula.distributions.transformed_distribution import TransformedDistribution
from facula.distributions.transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """``1 / x`` for ``x`` of ``Gamma(concentration, rate)``.

    Args:
        concentration: the shape, often called alpha.
        rate: the scale of the result, which is the rate of ``x``; often called beta.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> InverseGamma(facula.tensor([3.0]), facula.tensor([4.0])).mean
        tensor([2.])
    """

    arg_constraints: ClassVar = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True
    _parameters = ()
    base_dist: Gamma

    def __init__(
        self,
        concentration: Tensor | float,
        rate: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        inverse = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, inverse, validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The shape, often called alpha."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The scale, often called beta."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        mean = self.rate / (self.concentration - 1)
        return facula.where(self.concentration > 1, mean, facula.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        variance = self.rate**2 / ((self.concentration - 1) ** 2 * (self.concentration - 2))
        return facula.where(self.concentration > 2, variance, facula.inf)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            + self.rate.log()
            + self.concentration.lgamma()
            - (1 + self.concentration) * self.concentration.digamma()
        )
