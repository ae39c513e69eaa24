"""The binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions._probs import ProbsOrLogits
from facula.distributions.distribution import Distribution
from facula.nn.functional import softplus

__all__ = ["Binomial"]


class Binomial(ProbsOrLogits):
    """The number of successes in ``total_count`` trials.

    Args:
        total_count: the number of trials.
        probs: the probability of a success.
        logits: the log odds of a success; exactly one of the two is given.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Binomial(4, facula.tensor([0.5])).log_prob(facula.tensor([2.0])).exp()
        tensor([0.3750])
    """

    arg_constraints: ClassVar = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _parameters = ("total_count", "probs", "logits")
    total_count: Tensor

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_given(probs, logits, total_count=total_count)
        self.total_count = self.total_count.type_as(self._param)
        Distribution.__init__(self, self.param_shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with facula.no_grad():
            return facula.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        ways = (
            facula.lgamma(self.total_count + 1)
            - facula.lgamma(value + 1)
            - facula.lgamma(self.total_count - value + 1)
        )
        # -log(1 - p) = softplus(logit), also where p rounds to 1.
        return ways + value * self.logits - self.total_count * softplus(self.logits)

    def entropy(self) -> Tensor:
        log_prob = self.log_prob(self._enumerate("entropy", expand=False))
        return -(facula.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerate("enumerate_support", expand)

    def _enumerate(self, method: str, expand: bool) -> Tensor:
        total_count = int(self.total_count.max())
        if not self.total_count.min() == total_count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        values = facula.arange(1 + total_count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1, *(1,) * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values
