"""Bernoulli's distribution made continuous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import facula
from facula._core import Size, Tensor
from facula.distributions import constraints
from facula.distributions._probs import ProbsOrLogits
from facula.distributions.distribution import Distribution
from facula.distributions.transformed_distribution import TransformedDistribution
from facula.distributions.transforms import SigmoidTransform
from facula.distributions.utils import broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits):
    """The logit of ``RelaxedBernoulli``.

    Args:
        temperature: how soft the result is; near 0 its sigmoid is nearly 0 or 1.
        probs: the probability of a one.
        logits: the log odds of a one; exactly one of the two is given.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> LogitRelaxedBernoulli(facula.tensor(1.0), probs=0.5).log_prob(facula.tensor(0.0)).exp()
        tensor(0.2500)
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _parameters = ("probs", "logits")

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._set_given(probs, logits)
        Distribution.__init__(self, self.param_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(facula.rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        distance = logits - value * self.temperature
        return self.temperature.log() + distance - 2 * distance.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers between 0 and 1 that are nearly ``Bernoulli``'s, and differentiable.

    Args:
        temperature: how soft the numbers are; near 0 they are nearly 0 or 1.
        probs: the probability of a one.
        logits: the log odds of a one; exactly one of the two is given.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> probs = facula.tensor([0.0, 1.0])
        >>> RelaxedBernoulli(facula.tensor(0.1), probs=probs).rsample().round()
        tensor([0., 1.])
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _parameters = ()
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        """How soft the numbers are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log odds of a one."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probability of a one."""
        return self.base_dist.probs

    @property
    def param_shape(self) -> Size:
        """The shape of ``probs`` and ``logits``."""
        return self.base_dist.param_shape
