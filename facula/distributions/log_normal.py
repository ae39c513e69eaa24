"""The log-normal distribution."""

from __future__ import annotations

from typing import ClassVar

from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.normal import Normal
from facula.distributions.transformed_distribution import TransformedDistribution
from facula.distributions.transforms import ExpTransform

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """``exp(x)`` for ``x`` of ``Normal(loc, scale)``.

    Args:
        loc: the mean of the logarithm.
        scale: the standard deviation of the logarithm.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> LogNormal(0.0, 1.0).mode
        tensor(0.3679)
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parameters = ()
    base_dist: Normal

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale**2).exp()

    @property
    def variance(self) -> Tensor:
        variance = self.scale**2
        return variance.expm1() * (2 * self.loc + variance).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
