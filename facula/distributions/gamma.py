"""The gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import facula
from facula._core import Tensor, _standard_gamma
from facula.distributions import constraints
from facula.distributions.exp_family import ExponentialFamily

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution, of density proportional to ``x**(concentration-1) * exp(-rate*x)``.

    Args:
        concentration: the shape, often called alpha.
        rate: the inverse of the scale, often called beta.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Gamma(facula.tensor([2.0]), facula.tensor([4.0])).mean
        tensor([0.5000])
    """

    arg_constraints: ClassVar = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("concentration", "rate")
    concentration: Tensor
    rate: Tensor

    def __init__(
        self,
        concentration: Tensor | float,
        rate: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self._set_parameters(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate**2

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # A sample of 0 would have an infinite log_prob; the gradient takes no notice.
        value.detach().clamp_(min=facula.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = facula.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        return (
            facula.xlogy(self.concentration, self.rate)
            + facula.xlogy(self.concentration - 1, value)
            - self.rate * value
            - facula.lgamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return facula.igamma(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            - self.rate.log()
            + facula.lgamma(self.concentration)
            + (1 - self.concentration) * facula.digamma(self.concentration)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return facula.lgamma(x + 1) - (x + 1) * facula.log(-y)
