"""The categorical distribution of one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import facula
from facula._core import Size, Tensor
from facula.distributions import constraints
from facula.distributions.categorical import Categorical
from facula.distributions.distribution import Distribution
from facula.nn.functional import one_hot

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """Vectors with a 1 in the place of a category, else zeros.

    Args:
        probs: the weight of each category along the last dimension; scaled to sum to 1.
        logits: the log weights; exactly one of the two is given.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> OneHotCategorical(facula.tensor([0.0, 1.0])).sample()
        tensor([0., 1.])
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _parameters = ("_categorical",)

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(
            self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args
        )

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
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _one_hot(self, indices: Tensor) -> Tensor:
        return one_hot(indices, self._categorical._num_events).to(self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = facula.eye(n, dtype=self.probs.dtype, device=self.probs.device)
        values = values.view((n, *(1,) * len(self.batch_shape), n))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """``OneHotCategorical`` whose samples pass their gradient to ``probs`` unchanged.

    Args:
        probs: the weight of each category along the last dimension; scaled to sum to 1.
        logits: the log weights; exactly one of the two is given.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> probs = facula.tensor([0.0, 1.0], requires_grad=True)
        >>> OneHotCategoricalStraightThrough(probs).rsample().requires_grad
        True
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
