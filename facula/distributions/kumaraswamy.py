"""Kumaraswamy's distribution."""

from __future__ import annotations

from typing import ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.transformed_distribution import TransformedDistribution
from facula.distributions.transforms import AffineTransform, PowerTransform
from facula.distributions.uniform import Uniform
from facula.distributions.utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Numbers between 0 and 1, much like ``Beta``, with a simple distribution function.

    Args:
        concentration1: the first concentration, often called alpha.
        concentration0: the second concentration, often called beta.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Kumaraswamy(facula.tensor([1.0]), facula.tensor([1.0])).mean
        tensor([0.5000])
    """

    arg_constraints: ClassVar = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _parameters = ("concentration1", "concentration0")

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            facula.full_like(self.concentration0, 0),
            facula.full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * facula.exp(a.lgamma() + b.lgamma() - (a + b).lgamma())

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return mode.masked_fill((a < 1) | (b < 1), facula.nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean**2

    def entropy(self) -> Tensor:
        harmonic = (self.concentration0 + 1).digamma() + euler_constant
        return (
            (1 - self.concentration0.reciprocal())
            + (1 - self.concentration1.reciprocal()) * harmonic
            - self.concentration0.log()
            - self.concentration1.log()
        )
