"""The uniform distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.distribution import Distribution

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The numbers in ``[low, high)``, all of the same density.

    Args:
        low: the least number.
        high: the bound that all numbers stay below.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Uniform(0.0, 4.0).cdf(facula.tensor([1.0, 3.0]))
        tensor([0.2500, 0.7500])
    """

    has_rsample = True
    _parameters = ("low", "high")
    low: Tensor
    high: Tensor

    def __init__(
        self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self._set_parameters(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> Mapping[str, Any]:
        return {
            "low": constraints.less_than(self.high),
            "high": constraints.greater_than(self.low),
        }

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return facula.nan * self.high

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = facula.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        is_inside = ((self.low <= value) & (value < self.high)).type_as(self.low)
        return is_inside.log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return facula.log(self.high - self.low)
