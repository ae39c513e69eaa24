"""The half-normal distribution."""

from __future__ import annotations

import math

from facula._core import Tensor
from facula.distributions._half import Half
from facula.distributions.normal import Normal
from facula.distributions.transforms import AbsTransform

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """``|x|`` for ``x`` of ``Normal(0, scale)``.

    Args:
        scale: the standard deviation of ``x``.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> HalfNormal(1.0).cdf(facula.tensor([1.0]))
        tensor([0.6827])
    """

    _parameters = ()
    base_dist: Normal

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale**2 * (1 - 2 / math.pi)
