"""The logistic-normal distribution."""

from __future__ import annotations

from typing import ClassVar

from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.independent import Independent
from facula.distributions.normal import Normal
from facula.distributions.transformed_distribution import TransformedDistribution
from facula.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Vectors that sum to 1, made of normal numbers by ``StickBreakingTransform``.

    Args:
        loc: the means of the normal numbers, one less than the result has.
        scale: the standard deviations of the normal numbers.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> LogisticNormal(facula.zeros(2), facula.ones(2)).event_shape
        torch.Size([3])
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _parameters = ()
    base_dist: Independent[Normal]

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal numbers."""
        return self.base_dist.base_dist.scale
