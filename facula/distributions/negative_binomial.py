"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions._probs import ProbsOrLogits
from facula.distributions.distribution import Distribution
from facula.distributions.gamma import Gamma
from facula.distributions.utils import lazy_property
from facula.nn.functional import logsigmoid

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits):
    """The number of successes before ``total_count`` failures.

    Args:
        total_count: the number of failures, which need not be an integer.
        probs: the probability of a success, below 1.
        logits: the log odds of a success; exactly one of the two is given.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> NegativeBinomial(3.0, facula.tensor([0.5])).mean
        tensor([3.])
    """

    arg_constraints: ClassVar = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _parameters = ("total_count", "probs", "logits")
    total_count: Tensor

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_given(probs, logits, total_count=total_count)
        self.total_count = self.total_count.type_as(self._param)
        Distribution.__init__(self, self.param_shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * facula.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / facula.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        # The rate of a Poisson distribution that mixes to this one.
        return Gamma(
            concentration=self.total_count, rate=facula.exp(-self.logits), validate_args=False
        )

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with facula.no_grad():
            return facula.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        total = self.total_count + value
        ways = total.lgamma() - (1.0 + value).lgamma() - self.total_count.lgamma()
        # No failure and no success, in one way: the formula has inf - inf.
        ways = ways.masked_fill(total == 0.0, 0.0)
        return self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits) + ways
