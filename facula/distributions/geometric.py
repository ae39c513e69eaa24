"""The geometric distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import facula
from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions._probs import ProbsOrLogits
from facula.distributions.distribution import Distribution
from facula.distributions.utils import broadcast_all
from facula.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits):
    """The number of failures before the first success.

    ``Tensor.geometric_`` counts the success too.

    Args:
        probs: the probability of a success, above 0.
        logits: the log odds of a success; exactly one of the two is given.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Geometric(facula.tensor([0.25])).mean
        tensor([3.])
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parameters = ("probs", "logits")

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_given(probs, logits)
        Distribution.__init__(self, self.param_shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{self.probs}"
            )

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return facula.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with facula.no_grad():
            u = self.probs.new_empty(shape).uniform_(facula.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        # No failure of a certain success: 0 * log(0) must be 0.
        log_failure = (-probs.masked_fill((probs == 1) & (value == 0), 0)).log1p()
        return value * log_failure + self.probs.log()

    def entropy(self) -> Tensor:
        return (
            binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
        )
