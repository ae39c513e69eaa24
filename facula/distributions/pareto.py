"""Pareto's distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.exponential import Exponential
from facula.distributions.transformed_distribution import TransformedDistribution
from facula.distributions.transforms import AffineTransform, ExpTransform
from facula.distributions.utils import broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """Numbers from ``scale`` on, with a tail that falls as ``x**-alpha``.

    Args:
        scale: the least number.
        alpha: the exponent of the tail.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Pareto(facula.tensor([1.0]), facula.tensor([3.0])).mean
        tensor([1.5000])
    """

    arg_constraints: ClassVar = {"alpha": constraints.positive, "scale": constraints.positive}
    _parameters = ("scale", "alpha")

    def __init__(
        self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        alpha = self.alpha.clamp(min=1)  # infinite up to there
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        alpha = self.alpha.clamp(min=2)
        return self.scale**2 * alpha / ((alpha - 1) ** 2 * (alpha - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
