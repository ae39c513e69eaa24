"""The Cauchy distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.distribution import Distribution

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The ratio of two normal numbers: no mean, heavy tails.

    Args:
        loc: the median.
        scale: the half width of the peak at half of its height.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Cauchy(0.0, 1.0).cdf(facula.tensor([-1.0, 0.0, 1.0]))
        tensor([0.2500, 0.5000, 0.7500])
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = ("loc", "scale")
    loc: Tensor
    scale: Tensor

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self._set_parameters(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return self.loc.new_full(self._extended_shape(), facula.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.loc.new_full(self._extended_shape(), facula.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        eps = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + eps * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (z**2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return facula.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return facula.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
