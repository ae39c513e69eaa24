"""The generalised Pareto distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.distribution import Distribution

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """What is left above a high threshold: Pareto, exponential and bounded tails in one.

    Args:
        loc: the least value.
        scale: the scale of what is above it.
        concentration: the heaviness of the tail; 0 is the exponential distribution, below 0 values
            end at ``loc - scale / concentration``.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> GeneralizedPareto(0.0, 1.0, 0.5).cdf(facula.tensor([0.0, 2.0]))
        tensor([0.0000, 0.7500])
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _parameters = ("loc", "scale", "concentration")
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self._set_parameters(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = facula.where(
            self.concentration < 0, self.loc - self.scale / self.concentration, facula.inf
        )
        return constraints.interval(self.loc, upper)

    @property
    def mean(self) -> Tensor:
        mean = self.loc + self.scale / (1 - self.concentration)
        return facula.where(self.concentration < 1, mean, facula.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance = self.scale**2 / ((1 - self.concentration) ** 2 * (1 - 2 * self.concentration))
        return facula.where(self.concentration < 0.5, variance, facula.nan)

    def _is_exponential(self) -> Tensor:
        return facula.isclose(self.concentration, self.concentration.new_zeros(()))

    def _safe_concentration(self) -> Tensor:
        """The concentration where it divides, and 1 where the exponential's formula is taken."""
        return self.concentration.masked_fill(self._is_exponential(), 1.0)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(facula.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        concentration = self._safe_concentration()
        power = 1 / concentration + 1
        # A concentration of -1 is the uniform distribution: 0 * log(0) must be 0 at its end.
        tail = facula.where(power == 0, 0.0, power * facula.log1p(concentration * z))
        return -facula.where(self._is_exponential(), z, tail) - self.scale.log()

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of what is above the value.

        Args:
            value: where; its shape can be broadcast with ``batch_shape``.
        """
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        concentration = self._safe_concentration()
        tail = facula.log1p(concentration * z) / concentration
        return -facula.where(self._is_exponential(), z, tail)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of ``cdf``.

        Args:
            value: where; its shape can be broadcast with ``batch_shape``.
        """
        return facula.log1p(-facula.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return facula.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        log_survival = facula.log1p(-value)
        concentration = self._safe_concentration()
        z = facula.where(
            self._is_exponential(),
            -log_survival,
            facula.expm1(-concentration * log_survival) / concentration,
        )
        return self.loc + self.scale * z

    def entropy(self) -> Tensor:
        return facula.log(self.scale) + self.concentration + 1
