"""Laplace's distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.distribution import Distribution

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Two exponential distributions back to back.

    Args:
        loc: the mean.
        scale: the mean distance from it.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Laplace(0.0, 1.0).cdf(facula.tensor([0.0]))
        tensor([0.5000])
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
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale**2

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        # Above -1, where the logarithm would be infinite.
        u = self.loc.new_empty(shape).uniform_(facula.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * facula.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -facula.log(2 * self.scale) - facula.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * facula.expm1(-distance.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * facula.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + facula.log(2 * self.scale)
