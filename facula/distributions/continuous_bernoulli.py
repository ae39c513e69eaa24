"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions._probs import ProbsOrLogits
from facula.distributions.distribution import Distribution
from facula.distributions.exp_family import ExponentialFamily
from facula.distributions.utils import broadcast_all, clamp_probs
from facula.nn.functional import binary_cross_entropy_with_logits

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Numbers between 0 and 1, of density proportional to ``probs**x * (1-probs)**(1-x)``.

    It is the right likelihood for gray levels (Loaiza-Ganem and Cunningham, 2019).

    Args:
        probs: the parameter, between 0 and 1; not the mean.
        logits: the log odds of ``probs``; exactly one of the two is given.
        lims: the region around 1/2 in which Taylor series replace formulas that cancel there.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> ContinuousBernoulli(facula.tensor([0.5])).log_prob(facula.tensor([0.3]))
        tensor([0.])
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("probs", "logits")

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._set_given(probs, logits)
        if probs is not None:
            # The arguments are checked before they are kept away from 0 and 1.
            if validate_args is not None and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.__dict__["probs"] = clamp_probs(self.probs)
        self._lims = lims
        Distribution.__init__(self, self.param_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._lims = self._lims
        return new

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        # What is not used must be finite too, or its gradient is NaN.
        inside = self._lims[0] * facula.ones_like(self.probs)
        return facula.where(self._outside_unstable_region(), self.probs, inside)

    def _stable(self, formula: Tensor, series: Tensor) -> Tensor:
        return facula.where(self._outside_unstable_region(), formula, series)

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of what the density is multiplied by to integrate to 1."""
        cut = self._cut_probs()
        ratio = (facula.log1p(-cut) - facula.log(cut)).abs() / (1 - 2 * cut).abs()
        x = (self.probs - 0.5) ** 2
        return self._stable(ratio.log(), math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        formula = cut / (2 * cut - 1) + 1 / (facula.log1p(-cut) - facula.log(cut))
        x = self.probs - 0.5
        return self._stable(formula, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x)

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        formula = (
            cut * (cut - 1) / (1 - 2 * cut) ** 2 + 1 / (facula.log1p(-cut) - facula.log(cut)) ** 2
        )
        x = (self.probs - 0.5) ** 2
        return self._stable(formula, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = facula.rand(shape, dtype=self.probs.dtype, device=self.probs.device)
        return self.icdf(u)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        log_density = -binary_cross_entropy_with_logits(logits, value, reduction="none")
        return log_density + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut_probs()
        formula = (cut**value * (1 - cut) ** (1 - value) + cut - 1) / (2 * cut - 1)
        inside = self._stable(formula, value)
        ones = facula.ones_like(inside)
        return facula.where(value <= 0, 0 * ones, facula.where(value >= 1, ones, inside))

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        formula = (facula.log1p(-cut + value * (2 * cut - 1)) - facula.log1p(-cut)) / (
            facula.log(cut) - facula.log1p(-cut)
        )
        return self._stable(formula, value)

    def entropy(self) -> Tensor:
        log_zero, log_one = facula.log1p(-self.probs), facula.log(self.probs)
        return self.mean * (log_zero - log_one) - self._cont_bern_log_norm() - log_zero

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        is_outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = facula.where(is_outside, x, (self._lims[0] - 0.5) * facula.ones_like(x))
        formula = (facula.expm1(cut) / cut).log()
        return facula.where(is_outside, formula, 0.5 * x + x**2 / 24.0 - x**4 / 2880.0)
