"""Weibull's distribution."""

from __future__ import annotations

from typing import ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.exponential import Exponential
from facula.distributions.transformed_distribution import TransformedDistribution
from facula.distributions.transforms import AffineTransform, PowerTransform
from facula.distributions.utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """``scale * x**(1 / concentration)`` for ``x`` of ``Exponential(1)``.

    Args:
        scale: the scale, often called lambda.
        concentration: the shape, often called k.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Weibull(facula.tensor([2.0]), facula.tensor([1.0])).mean
        tensor([2.])
    """

    arg_constraints: ClassVar = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive
    _parameters = ("scale", "concentration", "concentration_reciprocal")

    def __init__(
        self,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(facula.ones_like(self.scale), validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        """The mean of the n-th power, for a scale of 1."""
        return facula.exp(facula.lgamma(1 + n * self.concentration_reciprocal))

    @property
    def mean(self) -> Tensor:
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Tensor:
        base = (self.concentration - 1) / self.concentration
        return self.scale * base**self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        return self.scale**2 * (self._moment(2) - self._moment(1) ** 2)

    def entropy(self) -> Tensor:
        return (
            euler_constant * (1 - self.concentration_reciprocal)
            + facula.log(self.scale * self.concentration_reciprocal)
            + 1
        )
