"""The multinomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import facula
from facula._core import Size, Tensor
from facula.distributions import constraints
from facula.distributions.binomial import Binomial
from facula.distributions.categorical import Categorical
from facula.distributions.distribution import Distribution
from facula.distributions.utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each category comes in ``total_count`` draws.

    Args:
        total_count: the number of draws.
        probs: the weight of each category along the last dimension; scaled to sum to 1.
        logits: the log weights; exactly one of the two is given.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Multinomial(8, facula.tensor([1.0, 3.0])).mean
        tensor([2., 6.])
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _parameters = ("_categorical",)
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        super().__init__(
            self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args
        )

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.total_count = self.total_count
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        """The log probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The shape of ``probs`` and ``logits``."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        draws = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = draws.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, draws, facula.ones_like(draws)).type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        # A category that cannot come, and does not: 0 * -inf must be 0.
        logits = logits.masked_fill((value == 0) & (logits == -facula.inf), 0)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        # Each count is binomial, which gives the mean of the logarithms of factorials.
        n = self.probs.new_tensor(float(self.total_count))
        counts = Binomial(total_count=self.total_count, probs=self.probs, validate_args=False)
        support = counts.enumerate_support(expand=False)[1:]
        log_factorials = (facula.exp(counts.log_prob(support)) * (support + 1).lgamma()).sum(
            [0, -1]
        )
        return n * self._categorical.entropy() - (n + 1).lgamma() + log_factorials
